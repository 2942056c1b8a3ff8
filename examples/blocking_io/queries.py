"""Three ways to ask MariaDB to sleep. Each is a context manager that connects to a port and gives ``sleep(seconds)``.

``sleep`` returns the server's own times (begin, end) of the query. Times that overlap prove that two queries ran at once; no busy
machine can fake or hide that, as it could with a stopwatch.
"""

import ctypes
import ctypes.util
import time
from contextlib import contextmanager

QUERY = "SELECT UNIX_TIMESTAMP(SYSDATE(6)), SLEEP({}), UNIX_TIMESTAMP(SYSDATE(6))"


@contextmanager
def pymysql(port):
    """A driver in Python. It waits in ``socket.recv``, which releases the GIL and looks for signals."""
    import pymysql

    connection = pymysql.connect(host="127.0.0.1", port=port, user="root")

    def sleep(seconds):
        with connection.cursor() as cursor:
            cursor.execute(QUERY.format(seconds))
            begin, _, end = cursor.fetchone()
        return float(begin), float(end)

    try:
        yield sleep
    finally:
        connection.close()


def wait_for_one(port):
    """Return as soon as the server is at work on one of our queries.

    Raises:
        TimeoutError: none came within 10 s.
    """
    import pymysql

    ours = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT UNIX_TIMESTAMP%'"
    with pymysql.connect(host="127.0.0.1", port=port, user="root") as connection, connection.cursor() as cursor:
        for _ in range(200):
            cursor.execute(ours)
            if cursor.fetchone()[0]:
                return
            time.sleep(0.05)
    raise TimeoutError("no query")


class ClientError(Exception):
    """The C client library reported an error."""


def client_library():
    """The name of MariaDB's C client library.

    Raises:
        FileNotFoundError: it is not installed.
    """
    for name in (ctypes.util.find_library("mariadb"), "libmariadb.so.3"):
        try:
            ctypes.CDLL(name or "")
        except OSError:
            continue
        if name:
            return name
    raise FileNotFoundError("no client library of MariaDB: apt-get install libmariadb3")


def _loaded(kind):
    library = kind(client_library())
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint
    for name, result, arguments in (
        ("mysql_init", pointer, [pointer]),
        ("mysql_real_connect", pointer, [pointer, text, text, text, text, number, text, ctypes.c_ulong]),
        ("mysql_real_query", ctypes.c_int, [pointer, text, ctypes.c_ulong]),
        ("mysql_store_result", pointer, [pointer]),
        ("mysql_fetch_row", ctypes.POINTER(text), [pointer]),
        ("mysql_free_result", None, [pointer]),
        ("mysql_close", None, [pointer]),
        ("mysql_error", text, [pointer]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


@contextmanager
def _c_client(kind, port):
    library = _loaded(kind)
    handle = library.mysql_init(None)
    if not library.mysql_real_connect(handle, b"127.0.0.1", b"root", None, None, port, None, 0):
        raise ClientError(library.mysql_error(handle).decode())

    def sleep(seconds):
        query = QUERY.format(seconds).encode()
        if library.mysql_real_query(handle, query, len(query)):
            raise ClientError(library.mysql_error(handle).decode())
        answer = library.mysql_store_result(handle)
        begin, _, end = library.mysql_fetch_row(answer)[:3]
        times = float(begin), float(end)
        library.mysql_free_result(answer)
        return times

    try:
        yield sleep
    finally:
        library.mysql_close(handle)


def c_releasing(port):
    """The C client, as a good driver calls it: ``ctypes.CDLL`` releases the GIL for the time of each call."""
    return _c_client(ctypes.CDLL, port)


def c_holding(port):
    """The C client, as a driver without ``Py_BEGIN_ALLOW_THREADS`` calls it: ``ctypes.PyDLL`` holds the GIL."""
    return _c_client(ctypes.PyDLL, port)
