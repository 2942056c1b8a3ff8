"""The last failure of a class, kept in hypothesis' database beside the example, so that the next campaign begins with it.

Hypothesis keeps the choices of the program that it has shrunk. Ours was made smaller after that, which no choices say. So what is
kept is the way from the one to the other, as the texts of the programs on it, and the token of the schedule. No value of the
program is kept: nothing has to be pickled, and a database that several people share runs no code.

What does not work: to try the schedule of a program on each smaller one while it is shrunk. One that fails takes 2 to 4 schedules
to find anyway (11 classes), and the time goes into those that hold.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..engine.schedule import BadToken, Token

_KEY = b"gilcheck.linearizable schedule "


@dataclass(frozen=True)
class KeptFailure:
    """A failure of an earlier campaign.

    Attributes:
        program: the text of the program that hypothesis has kept.
        way: the texts of the programs from there to the smallest.
        token: the schedule of the smallest.
    """

    program: str
    way: tuple[str, ...]
    token: Token


class KeptFailures:
    """The failures of one class; at most one is written.

    Args:
        database: hypothesis'; None to keep nothing.
        digest: which class.
    """

    def __init__(self, database: Any, digest: bytes) -> None:
        self._database, self._key = database, _KEY + digest

    def all(self) -> list[KeptFailure]:
        """Those that can be read; the others are dropped."""
        found = []
        for value in list(self._database.fetch(self._key)) if self._database is not None else ():
            try:
                program, way, token = json.loads(value)
                found.append(KeptFailure(str(program), tuple(map(str, way)), Token.read(token)))
            except (ValueError, TypeError, AttributeError, BadToken):
                self._database.delete(self._key, value)
        return found

    def keep(self, program: str, way: list[str], token: str) -> None:
        """Keep a failure in the place of those before."""
        if self._database is not None:
            self.drop()
            self._database.save(self._key, json.dumps([program, way, token]).encode())

    def drop(self) -> None:
        """Keep none any more."""
        if self._database is not None:
            for value in list(self._database.fetch(self._key)):
                self._database.delete(self._key, value)
