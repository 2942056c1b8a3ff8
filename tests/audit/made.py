"""Wheels, source distributions and extension modules that tests make."""

import base64
import hashlib
import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.interrupt.holder import compiler

BINARIES = Path(__file__).parent / "binaries"
MODULES = {
    "multi_free": "not used",
    "multi_used": "used",
    "multi_silent": "used",
    "multi_empty": "used",
    "multi_bare": "used",
    "multi_filled": "not used",
    "multi_computed": "cannot be told",
    "single_free": "not used",
    "single_used": "used",
    "single_silent": "used",
    "single_through": "not used",
    "single_sometimes": "cannot be told",
    "export_free": "not used",
    "export_used": "used",
    "export_silent": "used",
    "export_nested": "not used",
}
"""What each module of ``binaries/modules.c`` declares."""

LEVEL = "Programming Language :: Python :: Free Threading :: {}"
BETA, STABLE = LEVEL.format("2 - Beta"), LEVEL.format("3 - Stable")


def compiled(folder, *options):
    """``modules.c`` compiled with gcc; skips where there is no compiler."""
    found, why = compiler()
    if found is None:
        pytest.skip(why)
    target = Path(folder) / "modules.so"
    command = [found, "-shared", "-fPIC", "-w", *options, "-o", str(target), str(BINARIES / "modules.c")]
    subprocess.run(command, check=True)
    return target.read_bytes()


def binary(name="linux-x86_64.so"):
    return (BINARIES / name).read_bytes()


def metadata(name="demo", version="1.0", classifiers=(), requires_python=None, requires=(), text=""):
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}"]
    lines += [f"Classifier: {one}" for one in classifiers] + [f"Requires-Dist: {one}" for one in requires]
    lines += [f"Requires-Python: {requires_python}"] if requires_python else []
    return "\n".join([*lines, "", text]).encode()


def wheel(
    folder,
    tag="cp314-cp314t-manylinux_2_28_x86_64",
    files=None,
    *,
    name="demo",
    version="1.0",
    filename=None,
    record=None,
    extra=(),
    **said,
):
    """A wheel.

    Args:
        extra: more members, as (ZipInfo or name, content), that RECORD does not know.
        said: arguments of `metadata`.
    """
    info = f"{name}-{version}.dist-info"
    python, abi, platform = tag.split("-")
    every = [f"{one}-{two}-{three}" for one in python.split(".") for two in abi.split(".") for three in platform.split(".")]
    members = dict(files or {})
    members[f"{info}/METADATA"] = metadata(name, version, **said)
    members[f"{info}/WHEEL"] = "\n".join(["Wheel-Version: 1.0", *(f"Tag: {one}" for one in every), ""]).encode()
    rows = [f"{one},sha256={_digest(data)},{len(data)}" for one, data in members.items()]
    members[f"{info}/RECORD"] = ("\n".join([*rows, f"{info}/RECORD,,", ""])).encode() if record is None else record
    path = Path(folder) / (filename or f"{name}-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, data in [*members.items(), *extra]:
            archive.writestr(one, data)
    return path


def sdist(folder, files=None, *, name="demo", version="1.0", classifiers=(), members=()):
    """A source distribution; ``members`` are more, as (TarInfo, content)."""
    top = f"{name}-{version}"
    path = Path(folder) / f"{top}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for one, data in {"PKG-INFO": metadata(name, version, classifiers), **(files or {})}.items():
            entry = tarfile.TarInfo(f"{top}/{one}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for entry, data in members:
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def codes(findings, severity=None):
    """Codes of the findings that are no pass, sorted."""
    shown = [one for one in findings if one.severity != "ok" and (severity is None or one.severity == severity)]
    return sorted({one.code for one in shown})


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
