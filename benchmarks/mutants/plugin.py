"""Seeded defects of the pytest side: settings, markers, the guard, the evidence of a run, the command line."""

from __future__ import annotations

from . import Mutant

SETTINGS = ("tests/plugin/test_settings.py",)
GUARD = ("tests/plugin/test_guard.py", "tests/plugin/test_isolation.py")
MARKER = ("tests/plugin/test_marker.py",)
REPORTING = ("tests/plugin/test_reporting.py",)

MUTANTS = (
    Mutant(
        "settings-precedence",
        "settings.py",
        "        for layer, source in (command_line, environment):\n",
        "        for layer, source in (environment, command_line):\n",
        "the environment overrides the command line",
        SETTINGS,
    ),
    Mutant(
        "settings-off-is-on",
        "settings.py",
        '"no": False, "off": False}',
        '"no": False, "off": True}',
        "GILCHECK_STRICT=off switches strict on",
        SETTINGS,
    ),
    Mutant(
        "settings-hidden-bad-value",
        "settings.py",
        "        for layer, source in self._layers():\n            for name in SETTINGS:\n",
        "        for layer, source in self._layers()[:1]:\n            for name in SETTINGS:\n",
        "a mistyped value in the ini file is silently ignored where the command line has one",
        SETTINGS,
    ),
    Mutant(
        "settings-marker-over-environment",
        "settings.py",
        "        if argument is not None:\n            return argument, argument_source\n        layer, source = ini\n",
        "        layer, source = ini\n"
        "        if argument is not None and layer.get(name) is None:\n"
        "            return argument, argument_source\n",
        "the ini file overrides the argument of a marker",
        SETTINGS,
    ),
    Mutant(
        "session-not-strict",
        "adaptors/session.py",
        "        if self._strict:\n            pytest.fail(",
        "        if self._strict and not words:\n            pytest.fail(",
        "--gilcheck-strict has no effect, and undecided checks are skips",
        ("tests/plugin/test_marker.py", "tests/plugin/test_fuzz.py"),
    ),
    Mutant(
        "session-rerun",
        "adaptors/session.py",
        "        item.stash[_RECORDS], item.stash[_COUNTS] = [], Counter()  # a rerun",
        "        item.stash[_RECORDS], item.stash[_COUNTS] = item.stash.get(_RECORDS, []), "
        "item.stash.get(_COUNTS, Counter())  # a rerun",
        "a test that pytest-rerunfailures runs again has its second record under another number",
        REPORTING,
    ),
    Mutant(
        "session-crash-leaves-no-record",
        "adaptors/session.py",
        '        if report.failed and call.when != "teardown" and uses_check(item):\n',
        '        if report.skipped and call.when != "teardown" and uses_check(item):\n',
        "a test that crashes before its check is an empty cell in the table",
        REPORTING,
    ),
    Mutant(
        "guard-teardown-unseen",
        "adaptors/guard.py",
        "        if (fixture := _seen_by_teardown(item)) is not None:\n            return fixture\n",
        "",
        "an assertion in the teardown of a fixture does not see what the test did, and passes",
        GUARD,
    ),
    Mutant(
        "guard-failed-unseen",
        "adaptors/guard.py",
        '        if answer["report"]["outcome"] == "failed":\n            raise ChildFailed\n',
        "",
        "hooks of other plugins (reruns, screenshots) do not see that a test failed in its child",
        GUARD,
    ),
    Mutant(
        "guard-covers-up",
        "adaptors/guard.py",
        "    return call.excinfo is None or isinstance(call.excinfo.value, (ChildFailed, ChildSkipped))\n",
        "    return True\n",
        "a hook that fails a test in the parent is overruled by the child's report",
        GUARD,
    ),
    Mutant(
        "guard-warnings",
        "adaptors/guard.py",
        '        for message, category, filename, line in answer["warnings"]:\n'
        "            warnings.showwarning(message, category, filename, line)\n",
        "",
        "warnings of a guarded test are lost",
        GUARD,
    ),
    Mutant(
        "guard-crash-report",
        "adaptors/guard.py",
        "        if outcome.ending is not Ending.ANSWERED:\n            pytest.fail(",
        "        if outcome.ending is Ending.KILLED:\n            pytest.fail(",
        "a test that calls os._exit shows an unpickling error instead of what happened",
        GUARD,
    ),
    Mutant(
        "marker-closest",
        "adaptors/marked.py",
        "        for marker in reversed(list(item.iter_markers(self.name))):\n",
        "        for marker in item.iter_markers(self.name):\n",
        "the marker of a class overrides that of its method",
        MARKER,
    ),
    Mutant(
        "calls-unknown-argument",
        "calls.py",
        "        refuse_unknown(arguments, known, source)\n        values, sources",
        "        values, sources",
        "gilcheck.interrupt(work, witin=1) is a TypeError from inside the package",
        ("tests/interrupt/test_check.py", "tests/injection/test_check.py"),
    ),
    Mutant(
        "marker-late-skip",
        "adaptors/marked.py",
        "        if group.split(pytest.skip.Exception)[1] is None:",
        "        if not group.exceptions:",
        "a test that skips itself in a later call counts as skipped, whatever was measured",
        MARKER,
    ),
    Mutant(
        "marker-fixture-arguments",
        "adaptors/marked.py",
        "if parameter.default is parameter.empty\n",
        "if parameter.name in item.funcargs\n",
        "an invariant with an argument that is no fixture fails with a TypeError instead of one line",
        ("tests/plugin/test_interrupt.py", "tests/plugin/test_fuzz.py"),
    ),
    Mutant(
        "summary-worst-outcome",
        "adaptors/reporting.py",
        "        worst = max(worst, _outcome(report), key=_OUTCOMES.index)\n",
        "        worst = _outcome(report)\n",
        "a test that failed is on record as passed, and its violated claim is not found by gilcheck compare",
        REPORTING,
    ),
    Mutant(
        "summary-second-check",
        "adaptors/reporting.py",
        '    prefix = "gilcheck" if number == 1 else f"gilcheck.{number}"\n',
        '    prefix = "gilcheck"\n',
        "in JUnit XML the second check of a test overwrites the first",
        REPORTING,
    ),
    Mutant(
        "summary-collect-only",
        "adaptors/reporting.py",
        "        if self._config.option.collectonly:",
        "        if self._config.option.collectonly and self._records:",
        "pytest --collect-only overwrites the evidence of the last run with nothing",
        REPORTING,
    ),
    Mutant(
        "calls-lock-not-taken",
        "calls.py",
        '            with turn(PATIENCE, lambda: self._progress("waiting for another timing check on this machine")):\n'
        "                return measure(progress)\n",
        "            return measure(progress)\n",
        "timing checks of two xdist workers run at once, and disturb each other",
        ("tests/plugin/test_xdist_matrix.py", "tests/plugin/test_reporting.py"),
    ),
    Mutant(
        "calls-source-lost",
        "calls.py",
        "        except BadValue as error:  # what only the system",
        "        except ZeroDivisionError as error:  # what only the system",
        "an error about cores=64 in the ini file says that it came from an argument",
        ("tests/plugin/test_settings.py", "tests/plugin/test_marker.py", "tests/test_cli.py"),
    ),
    Mutant(
        "cli-workload-failed",
        "cli.py",
        "        return EXIT_STATUS[Verdict.VIOLATED]\n",
        "        return EXIT_STATUS[Verdict.HOLDS]\n",
        "gilcheck probe exits with 0 where the workload raised",
        ("tests/test_cli.py",),
    ),
    Mutant(
        "cli-replay-status",
        "cli.py",
        "    return min(1, subprocess.run(command, check=False).returncode)\n",
        "    subprocess.run(command, check=False)\n    return 0\n",
        "gilcheck replay exits with 0 although the failure is still there",
        ("tests/test_cli.py", "tests/plugin/test_fuzz.py"),
    ),
    Mutant(
        "xdist-missing-plugin",
        "adaptors/xdist_nodes.py",
        "    if missing:\n        expected",
        "    if len(missing) > 2:\n        expected",
        "an interpreter without the plugin gives thousands of errors instead of one line",
        ("tests/plugin/test_xdist_matrix.py",),
    ),
)
