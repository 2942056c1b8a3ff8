"""Builds the committed files of this folder from ``modules.c``: `python build.py`, with ziglang installed (0.14 or later).

One compiler for all platforms: clang, as `zig cc`. On macOS the symbols of Python are looked up when the library is loaded, on
Windows they come from an import library that is made of ``python.def``.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
COMMON = ["-shared", "-fPIC", "-Wno-everything", "-nostdlib", "-g0"]
TARGETS = {
    "linux-aarch64.so": ("aarch64-linux-gnu", ["-O2", "-s"]),
    "linux-x86_64.so": ("x86_64-linux-gnu", ["-O2", "-s"]),
    "macos-aarch64.so": ("aarch64-macos", ["-O2", "-undefined", "dynamic_lookup"]),
    "macos-x86_64.so": ("x86_64-macos", ["-O1", "-undefined", "dynamic_lookup"]),
    "windows-aarch64.pyd": ("aarch64-windows-gnu", ["-O2", "-s"]),
    "windows-x86_64.pyd": ("x86_64-windows-gnu", ["-O2", "-s"]),
}
MACHINES = {"windows-aarch64.pyd": "arm64", "windows-x86_64.pyd": "i386:x86-64"}


def zig(*words):
    subprocess.run([sys.executable, "-m", "ziglang", *map(str, words)], check=True)


def main():
    """Build all of them."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, (target, options) in TARGETS.items():
            libraries = []
            if name in MACHINES:
                libraries = [Path(scratch) / f"{name}.lib", "-Wl,--no-entry"]
                zig("dlltool", "-d", HERE / "python.def", "-l", libraries[0], "-m", MACHINES[name])
            zig("cc", "-target", target, *COMMON, *options, HERE / "modules.c", *libraries, "-o", Path(scratch) / name)
            (HERE / name).write_bytes((Path(scratch) / name).read_bytes())


if __name__ == "__main__":
    main()
