"""The steps of a run that kills its process: each is written to a file before the thread makes it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from io import BytesIO
from types import FrameType

from ...core.descriptors import OwnDescriptor
from ...engine.bytecode.visible import Access
from ...engine.running.task import Task
from ..explaining.recorder import RecordedStep, Recorder

_MOST = 1 << 26  # bytes


class StreamedRecorder(Recorder):
    """A recorder that writes to a descriptor what it sees."""

    def __init__(self, takes_part: Callable[[str], bool], descriptor: int) -> None:
        super().__init__(takes_part)
        self._file = OwnDescriptor.duplicate(descriptor)  # os.write itself is a step of the program

    def __call__(self, task: Task, point: int, access: Access, frame: FrameType) -> None:
        known = len(self.steps)
        super().__call__(task, point, access, frame)
        if known and self.steps[known - 1].value:
            self._send((known - 1, self.steps[known - 1].value))
        self._send(self.steps[-1])

    def _send(self, part: object) -> None:
        self._file.write(pickle.dumps(part))


def recorded_steps(descriptor: int) -> list[RecordedStep]:
    """What was written, up to the end of the process."""
    data = BytesIO(os.pread(descriptor, _MOST, 0))
    steps: list[RecordedStep] = []
    while True:
        try:
            part = pickle.load(data)
        except (EOFError, pickle.UnpicklingError):
            return steps
        if isinstance(part, RecordedStep):
            steps.append(part)
        else:
            steps[part[0]].value = part[1]
