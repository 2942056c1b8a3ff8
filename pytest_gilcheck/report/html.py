"""Evidence as one HTML file: a matrix of tests by interpreters, and for each test its figures, report and charts.

The matrix is plain HTML, rendered here: it can be read, searched and printed without a script. Everything else of a record is JSON,
one line for each row of the matrix, and the page's script parses a line when its row is opened: opening the file costs the
same whatever the details hold.

A record may hold anything, because a test's name or the text of an exception may: `clean` takes out what a terminal or the
direction of a line would obey, Jinja2 escapes what becomes HTML, `_data` escapes what becomes JSON, and a content security policy
that knows our one style and our one script by their hashes refuses to run or load whatever got through.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import importlib.util
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from ..checks import UNITS
from ..core.errors import BadValue
from ..core.evidence import Record
from .clean import clean, one_line
from .matrix import Cell, Matrix, Row, matrix
from .words import MARKS, number, seconds, short_figure, slower

VERDICTS = ("holds", "violated", "inconclusive", "measured")

_SYMBOLS = {verdict: MARKS.get(verdict, MARKS[None]) for verdict in VERDICTS}
_SCRIPTS = ("values.js", "svg.js", "charts.js", "lanes.js", "panel.js", "table.js")
_NOTHING_ELSE = "base-uri 'none'; form-action 'none'"
_AFTER_SEPARATORS = re.compile("(?<=/)|(?<=::)")  # where a name may go on in the next line
_FACTS = ("GIL", "switch interval", "cores", "platform", "machine", "load", "commit", "recorded")  # of an interpreter
_MOST_CHANGES = 100  # listed by name; the filter shows all
_DEEPEST = 12  # containers inside containers
_EXACT = 2**53  # integers beyond are rounded by JSON.parse


def unavailable() -> str | None:
    """What to do before a page can be made; None if nothing is missing."""
    return None if importlib.util.find_spec("jinja2") else "Jinja2, which the HTML report needs: install pytest-gilcheck[html]"


def page(
    records: Sequence[Record], *, title: str, notes: Sequence[str] = (), reference: str | None = None, ordered: bool = False
) -> str:
    """The whole page; the same records give the same text.

    Args:
        records: evidence; what is missing or strange in one is missing from its row.
        title: of the page.
        notes: lines above the matrix, for instance which files were left out.
        reference, ordered: as for `matrix.matrix`.

    Raises:
        BadValue: Jinja2 is not installed.
        LookupError: there is no column that is called as the reference is.
    """
    if missing := unavailable():
        raise BadValue("html", title, missing, "the HTML report")
    jinja2: Any = importlib.import_module("jinja2")  # an extra: not a name that type checkers may look for
    trusted = importlib.import_module("markupsafe").Markup
    found = matrix([_sound(record) for record in records], reference=reference, ordered=ordered)
    columns = [_column(found, index) for index in range(len(found.columns))]
    everywhere = {name: columns[0][name] for name in _FACTS if len({column[name] for column in columns}) == 1}
    style, script = _file("page.css"), "(() => {\n'use strict';\n" + "\n".join(map(_file, _SCRIPTS)) + "})();\n"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return str(
        environment.from_string(_file("page.html")).render(
            title=clean(title),
            notes=[clean(note) for note in notes],
            policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; {_NOTHING_ELSE}",
            style=trusted(style),
            script=trusted(script),
            facts=trusted(_escaped(json.dumps({"units": UNITS, "columns": [column.label for column in found.columns]}))),
            data=trusted(_data(found)),
            symbols=_SYMBOLS,
            checks=sorted({row.check for row in found.rows}),
            counts=Counter(_verdict(cell) for row in found.rows for cell in row.cells if cell),
            columns=columns,
            everywhere=everywhere,
            differing=[name for name in _FACTS if name not in everywhere],
            rows=[_row(row) for row in found.rows],
            reference=found.columns[found.reference].label if found.columns else "",
            reference_index=found.reference,
            replaced=found.replaced,
            **_changes(found),
        )
    )


# -- what the template shows -----------------------------------------------------------------------------------------------------


def _row(row: Row) -> dict[str, Any]:
    verdicts = [_verdict(cell) for cell in row.cells if cell]
    return {
        "parts": _AFTER_SEPARATORS.split(row.subject),
        "check": row.check,
        "number": row.number,
        "verdicts": [verdict for verdict in VERDICTS if verdict in verdicts],
        "differs": row.changed,
        "cells": [cell and {"verdict": _verdict(cell), "figure": _figure(cell), "cost": _cost(cell)} for cell in row.cells],
    }


def _column(found: Matrix, index: int) -> dict[str, Any]:
    """An interpreter: what it is, where and when it ran, and what it gave."""
    column = found.columns[index]
    cells = [cell for row in found.rows if (cell := row.cells[index])]
    python = column.interpreter
    loads = sorted(load for cell in cells if (load := _load(cell.record)) is not None)
    recorded = sorted({cell.record["recorded"] for cell in cells} - {""})
    interval = number(python, "switch_interval")
    cost = found.mean_cost(index)
    return {
        "label": column.label,
        "counts": Counter(map(_verdict, cells)),
        "cost": "" if cost is None else f"{slower(cost[0])} (of {cost[1]:,})",
        "GIL": _gil(python),
        "switch interval": "" if interval is None else seconds(interval),
        "cores": python.get("cores", ""),
        "platform": python["platform"],
        "machine": _several(_machine(cell.record["machine"]) for cell in cells),
        "load": " to ".join(dict.fromkeys(f"{load:.2f}" for load in (loads[0], loads[-1]))) if loads else "",
        "commit": _several(_commit(cell.record.get("run")) for cell in cells),
        "recorded": " to ".join(dict.fromkeys((recorded[0], recorded[-1]))) if recorded else "",
    }


def _changes(found: Matrix) -> dict[str, Any]:
    """Which rows do not have the same verdict everywhere, and from which interpreter to which it changes."""
    listed = []
    for row in filter(lambda row: row.changed, found.rows):
        here = [(column.label, _verdict(cell)) for column, cell in zip(found.columns, row.cells, strict=True) if cell]
        turns = [(*one, *other) for one, other in itertools.pairwise(here) if one[1] != other[1]]
        listed.append({"name": row.name, "check": row.check, "turns": turns})
        if len(listed) == _MOST_CHANGES:
            break
    return {"changes": listed, "changed": sum(row.changed for row in found.rows)}


def _verdict(cell: Cell) -> str:
    return cell.record["verdict"] or "measured"


def _figure(cell: Cell) -> str:
    figure = short_figure(cell.record)
    return "" if figure == "-" else figure


def _cost(cell: Cell) -> str:
    return "" if cell.cost is None else slower(cell.cost.ratio)


def _gil(python: Mapping[str, Any]) -> str:
    if python["build"] == "free-threaded":
        return "none"
    return "switched on" if python.get("free_threaded_build") is True else "yes"


def _machine(machine: Mapping[str, Any]) -> str:
    memory, cores = number(machine, "memory"), number(machine, "cores")
    words = (
        clean(machine.get("processor") or ""),
        clean(machine.get("system") or ""),
        "" if cores is None else f"{cores:g} cores",
        "" if memory is None else f"{memory / 2**30:.3g} GiB",
    )
    return ", ".join(filter(None, words))


def _commit(run: object) -> str:
    if not isinstance(run, Mapping) or not run.get("commit"):
        return ""
    return one_line(run["commit"])[:12] + (" and changes" if run.get("dirty") is True else "")


def _load(record: Record) -> float | None:
    load = record.get("load")
    return number({"load": load[0] if isinstance(load, list) and load else load}, "load")


def _several(words: Iterable[str]) -> str:
    """What was said, once each; only counted beyond three."""
    once = [word for word in dict.fromkeys(words) if word]
    return "; ".join(once[:3]) + (f"; {len(once) - 3} more" if len(once) > 3 else "")


# -- records that may hold anything ----------------------------------------------------------------------------------------------


def _sound(record: Record) -> Record:
    """The record with every part that a page relies on, of the type it relies on, and no text that is more than text."""
    plain = _plain(record)
    kept: Record = plain if isinstance(plain, dict) else {}
    given, verdict = kept.get("number"), kept.get("verdict", "inconclusive")
    parts = ("claim", "parameters", "figures", "details", "machine", "interpreter")
    sound = kept | {name: kept[name] if isinstance(kept.get(name), dict) else {} for name in parts}
    python = {"implementation": "CPython", "version": "unknown", "build": "unknown", "platform": ""} | sound["interpreter"]
    return sound | {
        "check": one_line(kept.get("check") or "unknown", 40),
        "subject": clean(kept.get("subject") or "no name"),
        "number": given if isinstance(given, int) and not isinstance(given, bool) else 1,
        "verdict": verdict if verdict is None or verdict in VERDICTS[:3] else "inconclusive",  # what cannot be told passes nothing
        "reason": clean(kept.get("reason") or ""),
        "recorded": one_line(kept.get("recorded") or "", 40),
        "file": clean(kept.get("file") or ""),
        "interpreter": {name: part if _scalar(part) else one_line(part, 40) for name, part in python.items()},
    }


def _scalar(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _plain(value: Any, depth: int = 0) -> Any:
    """The same as JSON can hold it and a reader can bear it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else _big(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (Mapping, list, tuple)) and depth >= _DEEPEST:
        return "\u2026"
    if isinstance(value, Mapping):
        return {clean(name): _plain(part, depth + 1) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, depth + 1) for part in value]
    return clean(value)


def _big(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return f"an integer of {value.bit_length()} bits"


# -- the file itself -------------------------------------------------------------------------------------------------------------


def _data(found: Matrix) -> str:
    """A JSON array with a line for each row: its records by column, null where there is none."""
    shown = ("verdict", "reason", "claim", "parameters", "figures", "details", "token", "gil", "load", "recorded", "run", "check")
    lines = [
        json.dumps([cell and {name: cell.record[name] for name in shown if name in cell.record} for cell in row.cells])
        for row in found.rows
    ]
    return _escaped("[\n" + ",\n".join(lines) + "\n]")


def _escaped(text: str) -> str:
    """JSON in ASCII (so U+2028 and U+2029 are escapes already) that nothing in it can end, or turn into a comment or an entity."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return resources.files(__package__).joinpath("page", name).read_text(encoding="utf-8")  # one kind of newline: hashed so


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
