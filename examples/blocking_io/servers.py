"""Starts a MariaDB and a gunicorn of this folder's ``shop.py`` on free ports of the loopback interface, and stops them."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
START = 30.0  # seconds that a server may take to accept a connection
GRACE = 2  # seconds for which gunicorn waits for its workers when it is told to end


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def running(command, port, log, **environment):
    """The process of a server that accepts connections on `port`. At the end its whole process group is killed."""
    if orphan_killer := shutil.which("setpriv"):  # the server ends even if this process is killed
        command = [orphan_killer, "--pdeathsig", "TERM", *command]
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            env=os.environ | environment, cwd=HERE, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + START
        while not listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[-1]} did not start: {Path(log).read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # nothing in it is worth a graceful end
        except ProcessLookupError:
            pass
        process.wait()


def mariadb(folder):
    """A server without system tables, users or files worth keeping. `folder` is short enough for the path of a socket."""
    program = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise FileNotFoundError("no mariadbd: apt-get install mariadb-server")
    port = free_port()
    command = [
        program, "--no-defaults", f"--datadir={folder}", f"--socket={folder}/s", f"--pid-file={folder}/pid",
        "--bind-address=127.0.0.1", f"--port={port}", "--skip-grant-tables", "--skip-networking=0",
        "--skip-innodb", "--default-storage-engine=Aria", *(["--user=root"] if os.geteuid() == 0 else []),
    ]  # fmt: skip
    return running(command, port, folder / "log"), port


def gunicorn(log, database, *options):
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        f"--bind=127.0.0.1:{port}",
        f"--graceful-timeout={GRACE}",
        *options,
        "shop:application",
    ]
    return running(command, port, log, DATABASE_PORT=str(database)), port
