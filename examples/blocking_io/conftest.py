import tempfile
from pathlib import Path

import pytest
import servers


@pytest.fixture(scope="session")
def database():
    """The port of a MariaDB of this test run's own."""
    pytest.importorskip("pymysql")
    with tempfile.TemporaryDirectory(prefix="db") as folder:
        try:
            server, port = servers.mariadb(Path(folder))
        except FileNotFoundError as error:
            pytest.skip(str(error))
        with server:
            yield port
