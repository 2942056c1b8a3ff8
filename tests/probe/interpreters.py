"""The interpreters that this machine has, and some that are none."""

import shutil
import subprocess
import sys
from pathlib import Path


def found():
    """Paths of real interpreters by name: those of pyenv, and PyPy and Jython."""
    every = {"ours": sys.executable}
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True).stdout.strip()
        every |= {path.parent.parent.name: str(path) for path in sorted(Path(root, "versions").glob("*/bin/python"))}
    return every | {name: path for name in ("pypy3", "jython") if (path := shutil.which(name))}


def fake(folder, body):
    """A program that takes the place of an interpreter; it is started with our script, a port and a key."""
    path = folder / "fake"
    path.write_text(f"#!{sys.executable}\nimport os, socket, subprocess, sys, time\n{body}\n")
    path.chmod(0o755)
    return str(path)


PATCHED = """
if sys.argv[1] == "-c":
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
scope = {"__name__": "patched"}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)
{patch}
scope["main"](int(sys.argv[2]), sys.argv[3])
"""


def patched(folder, patch):
    """Our own interpreter with our script, after a change to what it knows; ``scope`` is its namespace."""
    return fake(folder, PATCHED.replace("{patch}", patch))


def left(mark):
    """Processes that live and have this in their command line."""
    import psutil

    every = psutil.process_iter(["cmdline", "status"])
    return [
        process
        for process in every
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(mark in word for word in process.info["cmdline"] or ())
    ]
