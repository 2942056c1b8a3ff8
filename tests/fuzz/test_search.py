from time import monotonic

from pytest_gilcheck.fuzz.plan import FuzzPlan
from pytest_gilcheck.fuzz.program import Program
from pytest_gilcheck.fuzz.searching.harness import explorer_for
from pytest_gilcheck.fuzz.searching.limits import limited
from pytest_gilcheck.fuzz.searching.search import Search

from .programs import Counter, add_locked, is_two


def searched(preemptions, share=(0, 1)):
    program = Program((add_locked, add_locked), Counter, is_two)
    with explorer_for(program, FuzzPlan(), lambda label: None) as explorer:
        found = Search(explorer, preemptions, limited(monotonic() + 60, None), 1, share=share).run(explorer.sequential())
    assert found.complete == preemptions
    return found.enumerated


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
        follow = explorer.follow
        explorer.follow = lambda schedule, **how: (followed.add(schedule), follow(schedule, **how))[1]
        Search(explorer, 2, limited(monotonic() + 600, None), 1).run(sequential)
    points = [[choice.point for choice in schedule.choices if not choice.forced] for schedule in followed]
    assert any(len(each) == 2 and each[1] == each[0] + 1 for each in points)
