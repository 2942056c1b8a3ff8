"""Does what a result says agree with its own claim and with itself?"""

import re

_FIGURE = re.compile(r"within (another )?(?P<number>[\d.e+]+) (?P<unit>ms|s)\b")
_REPEATED = re.compile(r"\b(\w+(?: \w+){0,5}) \1\b")


def contradictions(result):
    """What is wrong with the words of an interrupt result, as a list of descriptions."""
    found = []
    reason, whole, claim = result.reason, str(result), result.claim
    if str(result.verdict) == "holds":
        for match in _FIGURE.finditer(reason):
            seconds = float(match["number"]) / (1000 if match["unit"] == "ms" else 1)
            handled = reason[: match.start()].rstrip().endswith("handled")
            limit = claim.within if handled else claim.within + claim.exits_within
            if seconds > limit * 1.01:
                found.append(f"{match[0]!r} in a claim that holds with a limit of {limit:g} s")
        for spread, limit in (
            (result.delivery, claim.within),
            (result.unwinding, claim.exits_within),
            (result.exit, claim.exits_within),
        ):
            if spread is not None and result.unwinding is not None and spread.max > limit * 1.05:
                found.append(f"a figure of {spread.max:g} s in a claim that holds with a limit of {limit:g} s")
        if result.culprit:
            found.append("a claim that holds has a culprit")
    if str(result.verdict) == "violated":
        if not result.culprit and "before any signal" not in reason:
            found.append("there is no culprit")
        if not reason.startswith(str(result.outcome)):
            found.append(f"the reason does not begin with the outcome {result.outcome}")
        if result.trials and str(result.outcome) not in {str(trial.outcome) for trial in result.trials}:
            found.append(f"no trial has the outcome {result.outcome}")
    if re.search(r"e\+\d\d", whole):
        found.append("a figure with an exponent")
    for text in (reason, result.culprit):
        outside = re.sub(r"`[^`]*`", "``", text)  # quoted source may say anything
        if "``" in text or re.search(r"(?<!\w)\(\s*\)\s*at|\bat\s*[,;]|(?<!\S)'',|: *$|  ", outside.replace("``", "x")):
            found.append("an empty name")
        if match := _REPEATED.search(outside):
            found.append(f"{match[1]!r} is said twice")
        pids = re.findall(r"pid (\d+)", text)
        if len(set(pids)) < len(pids):
            found.append("a process is named twice")
        if re.search(r"_FuncPtr|numpy\.ufunc|<locals>\.\w+\(\)", text):
            found.append("a class stands for the call")
    return [f"{entry}: {reason}" for entry in dict.fromkeys(found)]
