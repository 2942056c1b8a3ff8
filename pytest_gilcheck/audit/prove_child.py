"""Runs the fuzz engine on one function of a user's module: a program, started by `prove`.

    python prove_child.py CODE MODULE FUNCTION VARIABLE RESULT SECONDS FOLDER...

Two threads call the function, without arguments, on module variables that are put back before every schedule. What must then be
true depends on the pattern: both get the same object, or the variable has moved as far as two calls in sequence move it. And no
call raises what calls in sequence do not.
"""

import copy
import importlib
import json
import sys

_SAME_OBJECT = ("GA301", "GA305", "GA306")
_PLAIN = (int, float, complex, str, bytes, bool, type(None), list, dict, set, tuple, frozenset)


def main() -> None:
    """Explore the function of the command line, and write the verdict to RESULT."""
    code, name, function_name, variable, target, seconds, *folders = sys.argv[1:]
    sys.path[:0] = folders
    from pytest_gilcheck import gilcheck

    module = importlib.import_module(name)
    function = getattr(module, function_name)
    first = {key: copy.deepcopy(value) for key, value in vars(module).items() if type(value) in _PLAIN and not key.startswith("__")}

    def setup() -> list[object]:
        for key, value in first.items():
            setattr(module, key, copy.deepcopy(value))
        if hasattr(function, "cache_clear"):
            function.cache_clear()
        return []

    def call(results: list[object]) -> None:
        results.append(function())

    sequence = setup()
    call(sequence)
    call(sequence)
    moved = vars(module).get(variable)

    def invariant(results: list[object]) -> bool:
        if code in _SAME_OBJECT:
            return results[0] is results[1]
        return code != "GA307" or bool(vars(module).get(variable) == moved)

    is_variable = function_name == variable or sequence[0] is moved
    answer: dict[str, object]
    if code in _SAME_OBJECT and (sequence[0] is not sequence[1] or sequence[0] is None or not is_variable):
        answer = {
            "verdict": "inconclusive",
            "reason": f"calls in sequence do not return the one object of {variable}",
            "token": None,
        }
    else:
        result = gilcheck.fuzz(
            setup=setup,
            threads=[call, call],
            invariant=invariant,
            budget=float(seconds),
            include=[module],
            name=f"{name}.{function_name}",
        )
        answer = {"verdict": str(result.verdict), "reason": result.reason, "token": getattr(result, "token", None)}
    answer["decides"] = code in (*_SAME_OBJECT, "GA307")  # of others only exceptions are looked at
    with open(target, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
