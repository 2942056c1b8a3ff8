"""The step tables of the code that has started, and what has been seen of the names of the program."""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from ...core.classes import bases_of, classes_of, file_of_module, is_a, module_of_class, names_of_module
from ...core.lookup import looked_up
from ...core.origin import foreign
from ...core.source import with_nested
from ..bytecode.changing import Changing
from ..bytecode.sources import imports_of
from ..bytecode.visible import BY_C, Access, StepTable, Visibility

_LOOKS = frozenset(8**power for power in range(10))  # at which the classes under test are looked at


class StartedCode:
    """The code under test that has started, with its steps.

    Args:
        takes_part: whether the code of a file is under test.
        everything: whether every instruction is a step.

    Attributes:
        frozen: whether the step tables are to stay as they are: a schedule was found that is to be followed again.
    """

    def __init__(self, takes_part: Callable[[str], bool], *, everything: bool) -> None:
        self._everything = everything
        self._takes_part = takes_part
        self._visibility = Visibility(everything=everything)
        self.frozen = False
        self._looks = 0
        self._tables: dict[int, StepTable] = {}
        self._foreseen: dict[int, StepTable] = {}  # of code that has not started yet
        self._whole: dict[int, StepTable] = {}  # of those that have become narrower
        self._hidden: Mapping[int, Access] = {}
        self._files: dict[str, tuple[object, str | None]] = {}  # of modules, by name

    def _restart(self) -> None:
        """The tables are others: have each location reported again."""

    def _take_apart(self) -> None:
        """From here on, look at each step whether it is taken apart."""

    def _forget_tables(self) -> None:
        """Nothing has started, and nothing is known of names."""
        self._visibility, self._looks = Visibility(everything=self._everything), 0
        self._tables.clear()
        self._whole.clear()
        self._hidden = {}

    @property
    def names(self) -> Changing:
        """What is known about the names of the program."""
        return self._visibility.names

    @property
    def codes(self) -> frozenset[int]:
        """The ids of the code under test that has started so far."""
        return frozenset(self._tables)

    def foresee(self, codes: Container[int], learnt: Iterable[int]) -> None:
        """Make the step tables of code that will start, which takes each fork of this process more time than a run.

        All that can be known of these names is known before the first table is made.

        Args:
            codes: ids of code under test that has started in a fork of this process. What did not exist before that is left out.
            learnt: checksums of facts about names.
        """
        self._visibility = Visibility(everything=self._everything)
        self.names.learn_before_any_run(learnt)
        found = {id(code): (code, namespace) for code, namespace in _codes_of_functions(self._takes_part) if id(code) in codes}
        for code, _ in found.values():
            self.names.started(code, under_test=True)
        self.names.grown = True
        while self.names.grown:
            self.names.grown = False
            self._foreseen = {key: self._visibility.table(code, namespace) for key, (code, namespace) in found.items()}

    def narrow(self, hidden: Mapping[int, Access]) -> None:
        """Report these steps no more, until `widen`: they cost nothing then, and are no points of a run.

        Args:
            hidden: steps of the tables, by id.
        """
        if hidden is self._hidden:
            return
        self.widen()
        self._hidden = hidden
        for key, table in list(self._tables.items()):
            self._tables[key] = self._narrower(table)

    def widen(self) -> None:
        """Report every step again."""
        self._hidden = {}
        if not self._whole:
            return
        self._tables.update(self._whole)
        self._whole.clear()
        self._restart()

    def _narrower(self, table: StepTable) -> StepTable:
        hidden = self._hidden
        steps = {offset: access for offset, access in table.steps.items() if id(access) not in hidden}
        calls = {
            offset: call
            for offset, call in table.calls.items()
            if (offset in steps if call[0] is None else id(call[0]) not in hidden)
        }
        if len(steps) == len(table.steps) and len(calls) == len(table.calls):
            return table
        self._whole[id(table.code)] = table
        locations: dict[int, tuple[Access | None, int]] = {
            offset: (step, BY_C if table.locations[offset][1] == BY_C else False) for offset, step in steps.items()
        }
        return replace(table, steps=steps, calls=calls, checks=frozenset(), locations=locations)

    def freeze(self) -> None:
        """Keep the step tables as they are from now on."""
        self.frozen = True

    def _classes_under_test(self) -> Iterator[type]:
        """The classes of modules of which code has started beside the threads, or that these have imported; and their bases."""
        loaded = dict(sys.modules)
        modules = self._seen_among(loaded)
        waiting = list(modules)
        while waiting:
            module = loaded.get(waiting.pop())
            found = {*_modules_of(list(names_of_module(module).values())), *self._imported_by(module)} - modules
            modules |= found
            for name in found:
                path = file_of_module(loaded.get(name))
                if path is not None and self._takes_part(path) and not foreign(path):  # of the program, and no library
                    self.names.imported(path)
                    waiting.append(name)
        for kind in classes_of(modules):
            yield from bases_of(kind)[:-1]

    def _seen_among(self, loaded: Mapping[str, object]) -> set[str]:
        """The names of those modules of which code has started. Nearly all are the same each time, in a thousand programs."""
        files = self._files
        for name, module in loaded.items():
            if name not in files or files[name][0] is not module:
                files[name] = module, file_of_module(module)
        has_file = self.names.has_file
        return {name for name in loaded if has_file(files[name][1])}

    @staticmethod
    def _imported_by(module: ModuleType | None) -> Iterator[str]:
        """The modules that a module under test may have imported, also those of which it has kept no name."""
        package = names_of_module(module).get("__package__") or ""
        path = file_of_module(module)
        for name in imports_of(path) if path is not None else ():
            with suppress(ImportError):  # it is beyond the topmost package
                yield importlib.util.resolve_name(name, package) if name.startswith(".") else name

    def tables_unchanged(self, *, for_certain: bool = False) -> bool:
        """Whether the step tables are still valid. If not, this makes new ones, in which no step is hidden, and the steps counted
        so far are void.

        Args:
            for_certain: whether to look at all classes too, which takes milliseconds where there are thousands; otherwise that is
                done the first time, and then the 8th, the 64th and so on.
        """
        names = self.names
        names.check_values()
        self._looks += 1
        if for_certain or self._looks in _LOOKS:
            names.in_classes(self._classes_under_test())
        if not names.grown or self.frozen:
            return True
        self._whole.clear()  # the new tables have new steps, of which none is hidden
        self._hidden = {}
        self._foreseen.clear()
        while names.grown:
            names.grown = False
            for key, table in list(self._tables.items()):
                self._tables[key] = self._visibility.table(table.code, table.namespace)
        if any(table.apart for table in self._tables.values()):
            self._take_apart()
        self._restart()
        return False

    def unforeseen(self) -> tuple[int, ...]:
        """What the runs so far have shown too late for their step tables (`Changing.unforeseen`)."""
        self.names.check_values()
        self.names.in_classes(self._classes_under_test())
        return self.names.unforeseen()

    def _table(self, code: CodeType, frame: FrameType) -> StepTable:
        key = id(code)
        table = looked_up(self._tables, key)
        if table is None:
            self.names.started(code, under_test=True)
            table = None if self.names.grown else looked_up(self._foreseen, key)
            if table is None or table.namespace is not frame.f_globals:
                table = self._visibility.table(code, frame.f_globals)
            self._tables[key] = table
            if table.apart:
                self._take_apart()
        return table


def _codes_of_functions(takes_part: Callable[[str], bool]) -> Iterator[tuple[CodeType, dict[str, Any]]]:
    """The code of each function under test of this process, with what is nested in it, and its globals.

    None on a free-threaded 3.13: it takes functions from the collector's list when the first thread starts.
    """
    for each in gc.get_objects():
        if type(each) is FunctionType and takes_part(each.__code__.co_filename):
            for code in with_nested(each.__code__):
                yield code, each.__globals__


def _modules_of(values: list[object]) -> Iterator[str]:
    """The names of modules from which something has been imported as one of these."""
    for value in values:
        if type(value) is ModuleType:
            yield value.__name__
        elif is_a(value, type):
            yield module_of_class(value)  # type: ignore[arg-type]
        elif type(value) is FunctionType:
            yield str(value.__module__)
        else:
            yield module_of_class(type(value))
