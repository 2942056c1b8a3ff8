"""Starts a redis-server on a free port of the loopback interface, and stops it."""

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

START = 20.0  # seconds that it may take to accept a connection


@contextmanager
def redis_server(folder):
    """The port of a server that writes no files worth keeping.

    Raises:
        FileNotFoundError: it is not installed.
    """
    program = shutil.which("redis-server")
    if program is None:
        raise FileNotFoundError("no redis-server: apt-get install redis-server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    if orphan_killer := shutil.which("setpriv"):  # the server ends even if this process is killed
        command = [orphan_killer, "--pdeathsig", "TERM", *command]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + START
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("redis-server did not start") from None
                time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()
