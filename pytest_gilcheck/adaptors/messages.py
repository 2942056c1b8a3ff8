"""What the child that runs a test sends home: one dictionary for each event, pickled.

``kind`` is one of these:

- ``phase``: a phase (``when``) is over; its report, the sections of the item, and the warnings since the last phase.
- ``log``: a report that the test itself made (``subtests``).
- ``record``: the evidence of a check, as soon as it is known: the test may crash later.
- ``exit``: the test called ``pytest.exit``.
- ``failed``: the child cannot go on; ``text`` says why.
- ``began``: a process of its own has found the test, and begins it.
- ``refused``: a process of its own cannot set up what is wider than the test; ``text`` says why.
- ``end``: everything is torn down; the data of coverage, if it measures, and the last warnings.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pickle import dumps, loads  # bound here: a test may replace those of the module
from typing import Any

from ..core.texts import text_of

Message = dict[str, Any]


def pickled(message: Message) -> bytes:
    """Pickle a message. What cannot be pickled, such as a user's property or a plugin's attribute, becomes its ``repr``."""
    try:
        payload = dumps(message)
        loads(payload)
        return payload
    except KeyboardInterrupt:  # may be the user's own
        raise
    except BaseException:  # whatever the pickling hooks of the user's objects raise, SystemExit too
        return dumps({name: _plain(value) for name, value in message.items()})


def unpickled(payload: bytes) -> Message:
    """The message of `pickled`; one of the kind ``failed`` if it needs a class that is missing here."""
    try:
        message: Message = loads(payload)
        return message
    except Exception as error:
        return {"kind": "failed", "text": f"what the child process of the test sent cannot be unpickled: {error!r}"}


def packed_warnings(caught: Iterable[warnings.WarningMessage]) -> list[tuple[str, type[Warning], str, int]]:
    """Warnings as they can be pickled: message, category, file and line."""
    return [(str(each.message), _importable(each.category), each.filename, each.lineno) for each in caught]


def show_warnings(packed: Iterable[tuple[str, type[Warning], str, int]]) -> None:
    """Show warnings of a child as this process' own; filters have seen them in the child."""
    for message, category, filename, line in packed:
        warnings.showwarning(message, category, filename, line)


def _importable(category: type[Warning]) -> type[Warning]:
    """The category, or the nearest base of it that another process can import."""
    for base in category.__mro__:
        try:
            dumps(base)
        except Exception:  # defined in a function
            continue
        if issubclass(base, Warning):
            return base
    return Warning


def _plain(value: Any) -> Any:
    if isinstance(value, type) and issubclass(value, Warning):
        return value
    if isinstance(value, dict):
        return {key if type(key) is str else text_of(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_plain(entry) for entry in value]) if type(value) in (list, tuple) else text_of(value)
    return value if type(value) in (str, int, float, bool, bytes, type(None)) else text_of(value)
