"""Servers on the loopback interface, for workloads that talk to one."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time

from pytest_gilcheck.core.lifecycle import start_program

SERVERS = {"redis": "redis-server", "mariadb": "mariadbd"}
_STARTS_WITHIN = 60.0  # seconds


def port(name):
    """The port of a server that `running` has started; child processes of any kind know it."""
    return int(os.environ[_variable(name)])


def present(name):
    """Whether a server runs, or its program is installed."""
    return _variable(name) in os.environ or shutil.which(SERVERS[name]) is not None


@contextlib.contextmanager
def running(names=tuple(SERVERS)):
    """In the block, each of these servers whose program is installed runs, with its data in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for name in names:
            if not present(name):
                continue
            with socket.create_server(("127.0.0.1", 0)) as free:
                number = free.getsockname()[1]
            life = start_program(_command(name, number, folder), group=True, stdout=-3, stderr=-3, start_new_session=True)
            stack.callback(life.end)  # the reaper ends it if this process is killed
            _wait_for(life, name, number)
            os.environ[_variable(name)] = str(number)
            stack.callback(os.environ.pop, _variable(name))
        yield


def _variable(name):
    return f"GILCHECK_TEST_{name.upper()}_PORT"


def _command(name, number, folder):
    if name == "redis":
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(number), "--save", "", "--dir", folder]
    data = os.path.join(folder, "mariadb")
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
    subprocess.run([*install, f"--user={_user()}"], check=True, stdout=-3, stderr=-3)
    options = [f"--datadir={data}", f"--port={number}", "--bind-address=127.0.0.1", f"--socket={data}/socket", f"--user={_user()}"]
    return ["mariadbd", "--no-defaults", *options]


def _user():
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _wait_for(life, name, number):
    end = time.monotonic() + _STARTS_WITHIN
    while not life.gone() and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", number), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{SERVERS[name]} does not listen on port {number}")
