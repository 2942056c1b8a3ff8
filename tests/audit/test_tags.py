"""Which builds a wheel serves, and which a module's file name does: abi3t included."""

import pytest
from packaging.tags import parse_tag

from pytest_gilcheck.audit import tags
from pytest_gilcheck.audit.tags import Build


def served(text):
    return [str(build) for build in tags.served(parse_tag(text)) if build.version >= (3, 13)]


@pytest.mark.parametrize(
    ("tag", "builds"),
    [
        ("cp314-cp314t-manylinux_2_28_x86_64", ["cp314t"]),
        ("cp314-cp314-manylinux_2_28_x86_64", ["cp314"]),
        ("cp39-abi3-win_amd64", ["cp313", "cp314", "cp315", "cp316"]),
        ("cp315-abi3.abi3t-macosx_11_0_arm64", ["cp315", "cp315t", "cp316", "cp316t"]),
        ("cp315-abi3t-macosx_11_0_arm64", ["cp315t", "cp316t"]),
        ("py3-none-any", ["cp313", "cp313t", "cp314", "cp314t", "cp315", "cp315t", "cp316", "cp316t"]),
        ("py3-none-win_amd64", ["cp313", "cp313t", "cp314", "cp314t", "cp315", "cp315t", "cp316", "cp316t"]),
        ("py2-none-any", []),
        ("pp310-pypy310_pp73-manylinux_2_28_x86_64", []),
    ],
)
def test_a_wheel_serves_the_builds_that_an_installer_would_give_it_to(tag, builds):
    assert served(tag) == builds


def test_a_stable_abi_without_t_serves_no_free_threaded_build():
    assert not tags.serves_free_threading(parse_tag("cp39-abi3-win_amd64"))
    assert tags.serves_free_threading(parse_tag("cp315-abi3.abi3t-win_amd64"))


@pytest.mark.parametrize(
    ("platform", "families"),
    [
        ("manylinux_2_28_x86_64", {"linux-glibc-x86_64"}),
        ("manylinux2014_x86_64.manylinux_2_17_x86_64", {"linux-glibc-x86_64"}),
        ("musllinux_1_2_aarch64", {"linux-musl-aarch64"}),
        ("macosx_11_0_universal2", {"macos-arm64", "macos-x86_64"}),
        ("win32", {"windows-x86"}),
        ("win_arm64", {"windows-arm64"}),
    ],
)
def test_a_family_is_what_needs_a_wheel_of_its_own(platform, families):
    assert tags.families(parse_tag(f"cp314-cp314t-{platform}")) == families


@pytest.mark.parametrize(
    ("name", "on", "not_on"),
    [
        ("a/b.cpython-314t-x86_64-linux-gnu.so", ["cp314t"], ["cp314", "cp313t"]),
        ("b.cpython-314-darwin.so", ["cp314"], ["cp314t"]),
        ("b.cp314t-win_amd64.pyd", ["cp314t"], ["cp314"]),
        ("b.abi3.so", ["cp314"], ["cp314t", "cp315t"]),
        ("b.abi3t.so", ["cp315t", "cp315"], ["cp314t", "cp314"]),
        ("b.abi3t-x86_64-linux-gnu.so", ["cp315t"], ["cp314t"]),
        ("b.so", ["cp314", "cp314t"], []),
        ("b.pyd", ["cp314", "cp314t"], []),
    ],
)
def test_a_file_name_says_which_builds_load_it(name, on, not_on):
    suffix = tags.suffix(name)
    builds = {str(build): build for build in tags.builds([(3, 13), (3, 14), (3, 15)])}
    assert suffix.stem == "b"
    assert all(suffix.loads_on(builds[one]) for one in on)
    assert not any(suffix.loads_on(builds[one]) for one in not_on)


@pytest.mark.parametrize("name", ["libfoo.so.1", "b.py", "libgfortran-040039e1.5.so", ".so", "README"])
def test_what_is_no_module_has_no_suffix(name):
    assert tags.suffix(name) is None


def test_another_python_is_not_served():
    assert not tags.suffix("b.pypy310-pp73-x86_64-linux-gnu.so").loads_on(Build((3, 14), False))
