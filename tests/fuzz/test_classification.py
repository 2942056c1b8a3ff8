"""Whether a failure breaks today, is masked by the GIL, or was not decided."""

from pytest_gilcheck import Kind
from pytest_gilcheck.fuzz import failing

from .programs import Counter, add, counted, is_two


def test_a_failure_without_time_to_classify_it_has_no_kind(monkeypatch):
    monkeypatch.setattr(failing, "_CLASSIFYING", 0.0)
    result = counted(add, add, setup=Counter, invariant=is_two)
    result.assert_violated()
    assert result.kind is None
    assert "whether it breaks today was not decided" in result.reason


def test_samples_of_what_breaks_today_switch_only_where_a_gil_can(monkeypatch):
    def far_apart(counter):
        for _ in range(6):
            with counter.lock:
                counter.other = 1
        add(counter)

    monkeypatch.setattr(failing, "_CLASSIFYING_SCHEDULES", 200)
    result = counted(far_apart, far_apart, setup=Counter, invariant=is_two, schedules=60)
    result.assert_violated()
    assert result.kind is Kind.GIL_MASKED
