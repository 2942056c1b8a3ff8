from random import Random
from time import monotonic
from types import SimpleNamespace

import pytest

from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.running.task import READY
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.ledger import limited
from pytest_gilcheck.search.plan import FuzzPlan
from pytest_gilcheck.search.sampling import Priorities
from pytest_gilcheck.search.search import Search

from .programs import Counter, add_locked, is_two


def searched(preemptions, share=(0, 1)):
    program = Program((add_locked, add_locked), Counter, is_two)
    with explorer_for(program, FuzzPlan(), lambda label: None) as explorer:
        found = Search(explorer, preemptions, limited(monotonic() + 60, None), 1, share=share, sampling=False).run(
            explorer.sequential()
        )
    assert found.complete == preemptions
    return found.enumerated


@pytest.mark.slow
def test_shares_are_all_schedules_together_and_only_those_without_preemption_are_run_by_everybody():
    everybodys = searched(0)
    shares = [searched(2, (which, 3)) for which in range(3)]
    assert min(shares) > everybodys
    assert sum(shares) - 2 * everybodys == searched(2)


def test_two_preemptions_at_neighbouring_points_are_among_all_schedules():
    followed = set()
    program = Program((add_locked, add_locked), Counter, is_two)
    with explorer_for(program, FuzzPlan(), lambda label: None) as explorer:
        sequential = explorer.sequential()
        once = explorer.once
        explorer.once = lambda policy, **how: (followed.add(policy._schedule), once(policy, **how))[1]
        Search(explorer, 2, limited(monotonic() + 600, None), 1, sampling=False).run(sequential)
    points = [[choice.point for choice in schedule.choices if not choice.forced] for schedule in followed]
    assert any(len(each) == 2 and each[1] == each[0] + 1 for each in points)


@pytest.mark.parametrize("seed", range(5))
def test_at_each_point_of_change_the_running_thread_falls_behind_all_others(seed):
    tasks = [SimpleNamespace(index=index, state=READY) for index in range(3)]
    policy, current, changes = Priorities(Random(seed), steps=200, depth=9), tasks[0], 0
    policy.begin(tasks)
    for point in range(1, 201):
        changing = point > 1 and policy.next == point
        others = [task for task in tasks if task is not current]
        running, current = current, policy.at(point, current, others, None)
        if changing:
            assert current is not running
            changes += 1
    assert changes > 4
