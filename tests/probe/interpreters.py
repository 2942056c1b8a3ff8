"""The interpreters of this machine, and programs that only look like one."""

import shutil
import subprocess
import sys
from pathlib import Path


def found():
    """Return the paths of real interpreters by name: those of pyenv, PyPy and Jython."""
    every = {"ours": sys.executable}
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True).stdout.strip()
        every |= {path.parent.parent.name: str(path) for path in sorted(Path(root, "versions").glob("*/bin/python"))}
    return every | {name: path for name in ("pypy3", "jython") if (path := shutil.which(name))}


def fake(folder, body):
    """Return the path of a program that is started instead of an interpreter, with our script, a port and a key."""
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
    """Return the path of our interpreter that runs our script after this patch; ``scope`` is the script's namespace."""
    return fake(folder, PATCHED.replace("{patch}", patch))


def left(mark):
    """Return the running processes with this text in their command line."""
    import psutil

    every = psutil.process_iter(["cmdline", "status"])
    return [
        process
        for process in every
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(mark in word for word in process.info["cmdline"] or ())
    ]
