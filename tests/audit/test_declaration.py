"""The declaration read out of binaries: every form, every format, every optimisation; and damaged files."""

import random
import time

import pytest

from pytest_gilcheck.audit.binary.declaration import Damaged, Declaration, Gil, combined, declarations
from pytest_gilcheck.audit.binary.reading import images

from .made import BINARIES, MODULES, binary, compiled

PLATFORMS = sorted(path.name for path in BINARIES.iterdir() if path.suffix in (".so", ".pyd"))


def declared(data, module):
    (one,) = declarations(data, module)
    return one


@pytest.mark.parametrize("name", PLATFORMS)
@pytest.mark.parametrize("module", MODULES)
def test_every_form_on_every_platform(name, module):
    assert declared(binary(name), module).gil == MODULES[module]


@pytest.mark.parametrize(
    "options", [["-O0"], ["-O2"], ["-O3", "-fno-plt", "-fcf-protection=full"], ["-Os", "-DGIL_BUILD"]], ids=" ".join
)
def test_what_gcc_makes_of_it(tmp_path, options):
    data = compiled(tmp_path, *options)
    assert {module: str(declared(data, module).gil) for module in MODULES} == MODULES


def test_the_form_and_the_subinterpreters_are_told():
    data = binary()
    assert [declared(data, name).form for name in ("multi_free", "single_free", "export_free")] == [
        "multi-phase", "single-phase", "PySlot",
    ]  # fmt: skip
    assert declared(data, "multi_free").interpreters == "with a GIL of their own"
    assert declared(data, "multi_silent").interpreters == ""


def test_what_cannot_be_told_says_why():
    assert "run time" in declared(binary(), "multi_computed").why
    assert "not the same on every way" in declared(binary(), "single_sometimes").why


def test_a_library_that_is_no_module_declares_nothing():
    data = binary().replace(b"PyInit_", b"NoInit_").replace(b"PyModExport_", b"NoModExport_")
    assert declarations(data, "multi_free") == []


def test_a_module_of_another_name_is_not_guessed():
    assert declared(binary(), "absent").gil is Gil.UNKNOWN


def test_all_architectures_must_declare_it():
    free, used, unknown = (Declaration(gil, "", "") for gil in (Gil.NOT_USED, Gil.USED, Gil.UNKNOWN))
    assert combined([free, free]).gil is Gil.NOT_USED
    assert combined([free, used]).gil is Gil.USED
    assert combined([free, unknown]).gil is Gil.UNKNOWN


def test_a_universal_file_holds_both_architectures():
    parts = [binary("macos-x86_64.so"), binary("macos-aarch64.so")]
    head = bytearray(b"\xca\xfe\xba\xbe" + (2).to_bytes(4, "big"))
    offset, body = 4096, b""
    for part, machine in zip(parts, (0x01000007, 0x0100000C), strict=True):
        head += b"".join(value.to_bytes(4, "big") for value in (machine, 0, offset + len(body), len(part), 12))
        body += part
    data = bytes(head).ljust(offset, b"\0") + body
    assert [image.machine for image in images(data)] == ["x86-64", "aarch64"]
    assert [one.gil for one in declarations(data, "multi_free")] == [Gil.NOT_USED, Gil.NOT_USED]


def test_code_of_another_machine_cannot_be_told():
    data = bytearray(binary())
    data[18] = 22  # s390x
    assert declared(bytes(data), "multi_free").gil is Gil.UNKNOWN


@pytest.mark.parametrize(
    "data", [b"", b"MZ", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe\0\0\0\x37", b"#!/bin/sh\n", b"\0" * 4096]
)
def test_what_is_no_binary_is_damaged(data):
    with pytest.raises(Damaged):
        declarations(data, "multi_free")


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_file_that_was_cut_off_is_damaged_or_told_as_far_as_it_goes(name):
    data = binary(name)
    for size in range(0, len(data), len(data) // 60):
        try:
            declarations(data[:size], "multi_free")
        except Damaged:
            continue


def test_damage_raises_nothing_else_and_takes_no_time():
    chance = random.Random(1)
    began = time.perf_counter()
    for _ in range(150):
        data = bytearray(binary(chance.choice(PLATFORMS)))
        for _ in range(chance.choice((1, 5, 50))):
            data[chance.randrange(min(len(data), 4096))] = chance.randrange(256)
        try:
            declarations(bytes(data), chance.choice(list(MODULES)))
        except Damaged:
            pass
    assert time.perf_counter() - began < 60
