"""Four ``SELECT SLEEP`` at once: do they take as long as one, or as long as four? In 2012, four of 2 s took 2.03 s."""

import pytest
import queries
from atonce import AT_ONCE, IN_TURN, UNDECIDED, ask, order

SECONDS = 1.0  # 2 in 2012: the ratio counts
PYTHON = pytest.param(queries.pymysql, id="PyMySQL")
RELEASING = pytest.param(queries.c_releasing, id="C-client-releasing-the-GIL")
HOLDING = pytest.param(queries.c_holding, id="C-client-holding-the-GIL")


@pytest.fixture(params=[PYTHON, RELEASING, HOLDING])
def way(request):
    if request.param is not queries.pymysql:
        try:
            queries.client_library()
        except FileNotFoundError as error:
            pytest.skip(str(error))
    return request.param


def select_sleep(way, port, seconds):
    with way(port) as sleep:
        return sleep(seconds)


def waits_alone(way, gilcheck):
    """Whether a query in this way keeps all other threads waiting."""
    return way is queries.c_holding and gilcheck.interpreter.build == "gil"


def test_four_queries_at_once(way, database, gilcheck):
    answers, seconds = ask(4, lambda: select_sleep(way, database, SECONDS))
    print(f"four SELECT SLEEP({SECONDS:g}) with {way.__name__}: {seconds:.2f} s, {order(answers)}")
    if order(answers) == UNDECIDED:
        pytest.skip("inconclusive: this machine was too busy to ask four times at once")
    assert order(answers) == (IN_TURN if waits_alone(way, gilcheck) else AT_ONCE)
    if order(answers) == IN_TURN:
        assert seconds > 4 * SECONDS


# The same as a claim, as your own suite would make it.
def test_four_threads_scale(way, database, gilcheck):
    result = gilcheck.scaling(lambda: select_sleep(way, database, 0.3), threads=4, min_speedup=2.0)
    if waits_alone(way, gilcheck):
        result.assert_violated()
    else:
        result.assert_holds()


# PyMySQL waits in socket.recv, which looks for signals. The C client goes on waiting, whether it holds the GIL or not.
def test_ctrl_c_in_the_middle_of_a_query(way, database, gilcheck):
    # Two signals: one may come before the query is sent.
    result = gilcheck.interrupt(lambda: select_sleep(way, database, 2.5), within=1.0, repeats=2, over=0.5)
    if way is queries.pymysql:
        result.assert_holds()
    else:
        result.assert_violated()
        assert "mysql_real_query" in result.culprit, result
