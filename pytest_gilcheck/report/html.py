"""Evidence as one HTML file: a matrix of tests by interpreters, and the figures, report and charts of each test.

The matrix is plain HTML, rendered here: it can be read, searched and printed without a script. The rest of each record is JSON, one
line for each row of the matrix. The script of the page parses a line when its row is opened, so the time to open the file does not
depend on the size of the details.

A record may contain anything, because the name of a test or the message of an exception may. `clean` removes escape sequences and
characters that change the direction of text, Jinja2 escapes what becomes HTML, and `_escaped` escapes what becomes JSON. A content
security policy with the hashes of our one style and our one script refuses to run or load anything else.
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
from dataclasses import replace
from importlib import resources
from typing import Any

from ..checks import UNITS
from ..core.codes import CODES, page_address
from ..core.durations import seconds
from ..core.errors import BadValue
from ..core.evidence import Record
from ..core.version import __version__
from .clean import clean, one_line
from .matrix import Matrix, MatrixCell, MatrixRow, matrix
from .words import MARKS, WORST_FIRST, number, short_figure, slower

VERDICTS = ("holds", "violated", "inconclusive", "measured")

_SYMBOLS = {verdict: MARKS.get(verdict, MARKS[None]) for verdict in VERDICTS}
_BEFORE_CHARTS = ("values.js", "svg.js", "charts.js")
_AFTER_CHARTS = ("panel.js", "table.js")
_NO_FORMS = "base-uri 'none'; form-action 'none'"
_AFTER_SEPARATORS = re.compile("(?<=/)|(?<=::)")  # where a long name may be wrapped
_FACTS = ("GIL", "switch interval", "cores", "platform", "machine", "load", "commit", "recorded")  # facts of an interpreter
_MOST_CHANGES = 100  # changes listed by name; the filter shows all
_LONGEST_REASON = 240  # characters in the table; the card has the whole
_DEEPEST = 12  # nested containers; deeper ones are cut
_EXACT = 2**53  # JSON.parse rounds larger integers


def unavailable() -> str | None:
    """Return what must be installed before a page can be made; None if nothing is missing."""
    return None if importlib.util.find_spec("jinja2") else "Jinja2: pip install 'pytest-gilcheck[html]'"


def page(
    records: Sequence[Record], *, title: str, notes: Sequence[str] = (), reference: str | None = None, ordered: bool = False
) -> str:
    """Return the whole page; the same records give the same text.

    Args:
        records: evidence. A part of a record that is missing or has the wrong type is missing from its row.
        title: of the page.
        notes: lines above the matrix, for instance which files were left out.
        reference, ordered: as for `matrix.matrix`.

    Raises:
        BadValue: Jinja2 is not installed.
        LookupError: no column has the label ``reference``.
    """
    if missing := unavailable():
        raise BadValue("html", title, missing, "the HTML report")
    jinja2: Any = importlib.import_module("jinja2")  # an optional dependency, so type checkers must not look for it
    trusted = importlib.import_module("markupsafe").Markup
    found = matrix([_normalised(record) for record in records], reference=reference, ordered=ordered)
    found = replace(found, rows=tuple(sorted(found.rows, key=_worst)))
    columns = [_column(found, index) for index in range(len(found.columns))]
    everywhere = {name: columns[0][name] for name in _FACTS if len({column[name] for column in columns}) == 1}
    style, script = _file("page.css"), "(() => {\n'use strict';\n" + "\n".join(map(_file, scripts())) + "})();\n"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return str(
        environment.from_string(_file("page.html")).render(
            title=clean(title),
            notes=[clean(note) for note in notes],
            policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; {_NO_FORMS}",
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
            version=__version__,
            **_changes(found),
        )
    )


# -- what the template shows -----------------------------------------------------------------------------------------------------


def _worst(row: MatrixRow) -> int:
    """The place of a row: what does not hold comes first."""
    verdicts = [_verdict(cell) for cell in row.cells if cell]
    return next((place for place, verdict in enumerate(WORST_FIRST) if verdict in verdicts), len(WORST_FIRST))


def _why(cell: MatrixCell) -> dict[str, str] | None:
    """Why a check does not hold, with the code of its finding and the address of that page; None for one that holds."""
    record = cell.record
    if record["verdict"] in ("holds", None):
        return None
    code = record.get("code")
    known = code if isinstance(code, str) and code in CODES else ""
    cause = record["figures"].get("diagnosis") if record["verdict"] == "violated" else None
    reason = one_line(cause if isinstance(cause, str) else record["reason"], _LONGEST_REASON)
    return {"code": known, "page": page_address(known) if known else "", "reason": reason}


def _shown(cell: MatrixCell) -> dict[str, Any]:
    return {"verdict": _verdict(cell), "figure": _figure(cell), "cost": _cost(cell), "why": _why(cell)}


def _row(row: MatrixRow) -> dict[str, Any]:
    verdicts = [_verdict(cell) for cell in row.cells if cell]
    return {
        "parts": _AFTER_SEPARATORS.split(row.subject),
        "check": row.check,
        "number": row.number,
        "verdicts": [verdict for verdict in VERDICTS if verdict in verdicts],
        "differs": row.changed,
        "cells": [cell and _shown(cell) for cell in row.cells],
    }


def _column(found: Matrix, index: int) -> dict[str, Any]:
    """Return the facts of one interpreter: what it is, where and when it ran, and the count of each verdict."""
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
        "machine": _distinct(_machine(cell.record["machine"]) for cell in cells),
        "load": " to ".join(dict.fromkeys(f"{load:.2f}" for load in (loads[0], loads[-1]))) if loads else "",
        "commit": _distinct(_commit(cell.record.get("run")) for cell in cells),
        "recorded": " to ".join(dict.fromkeys((recorded[0], recorded[-1]))) if recorded else "",
    }


def _changes(found: Matrix) -> dict[str, Any]:
    """Return the rows whose verdicts differ, each with the interpreters between which the verdict changes."""
    listed = []
    for row in filter(lambda row: row.changed, found.rows):
        here = [(column.label, _verdict(cell)) for column, cell in zip(found.columns, row.cells, strict=True) if cell]
        turns = [(*one, *other) for one, other in itertools.pairwise(here) if one[1] != other[1]]
        listed.append({"name": row.name, "check": row.check, "turns": turns})
        if len(listed) == _MOST_CHANGES:
            break
    return {"changes": listed, "changed": sum(row.changed for row in found.rows)}


def _verdict(cell: MatrixCell) -> str:
    return cell.record["verdict"] or "measured"


def _figure(cell: MatrixCell) -> str:
    figure = short_figure(cell.record)
    return "" if figure == "-" else figure


def _cost(cell: MatrixCell) -> str:
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


def _distinct(words: Iterable[str]) -> str:
    """Return the distinct texts; of more than three, the first three and the number of the others."""
    once = [word for word in dict.fromkeys(words) if word]
    return "; ".join(once[:3]) + (f"; {len(once) - 3} more" if len(once) > 3 else "")


# -- records that may contain anything -------------------------------------------------------------------------------------------


def _normalised(record: Record) -> Record:
    """Return the record with every part that the page needs, of the type that it needs, and all text cleaned."""
    plain = _plain(record)
    kept: Record = plain if isinstance(plain, dict) else {}
    given, verdict = kept.get("number"), kept.get("verdict", "inconclusive")
    parts = ("claim", "parameters", "figures", "details", "machine", "interpreter")
    normalised = kept | {name: kept[name] if isinstance(kept.get(name), dict) else {} for name in parts}
    python = {"implementation": "CPython", "version": "unknown", "build": "unknown", "platform": ""} | normalised["interpreter"]
    return normalised | {
        "check": one_line(kept.get("check") or "unknown", 40),
        "subject": clean(kept.get("subject") or "no name"),
        "number": given if isinstance(given, int) and not isinstance(given, bool) else 1,
        "verdict": verdict
        if verdict is None or verdict in VERDICTS[:3]
        else "inconclusive",  # a damaged verdict must not look like a pass
        "reason": clean(kept.get("reason") or ""),
        "recorded": one_line(kept.get("recorded") or "", 40),
        "file": clean(kept.get("file") or ""),
        "interpreter": {name: part if _scalar(part) else one_line(part, 40) for name, part in python.items()},
    }


def _scalar(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _plain(value: Any, depth: int = 0) -> Any:
    """Return the value as JSON can hold it: text cleaned, infinities as text, nesting cut at `_DEEPEST`."""
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
    except ValueError:  # more digits than Python converts
        return f"an integer of {value.bit_length()} bits"


# -- the file itself -------------------------------------------------------------------------------------------------------------


def _data(found: Matrix) -> str:
    """Return a JSON array with one line for each row: its records by column, null where there is none."""
    shown = (
        "verdict", "reason", "code", "claim", "parameters", "figures", "details", "token", "rerun", "gil", "load", "recorded",
        "run", "check",
    )  # fmt: skip
    lines = [
        json.dumps([cell and {name: cell.record[name] for name in shown if name in cell.record} for cell in row.cells])
        for row in found.rows
    ]
    return _escaped("[\n" + ",\n".join(lines) + "\n]")


def _escaped(text: str) -> str:
    """Return JSON that cannot end its script element nor begin a comment or an entity. It is ASCII: U+2028 is escaped."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def scripts() -> list[str]:
    """The names of the page's scripts in their order; each file of ``charts`` draws the check that it is named after."""
    charts = sorted(entry.name for entry in resources.files(__package__).joinpath("page", "charts").iterdir())
    return [*_BEFORE_CHARTS, *(f"charts/{name}" for name in charts), *_AFTER_CHARTS]


def _file(name: str) -> str:
    return (
        resources.files(__package__).joinpath("page", *name.split("/")).read_text(encoding="utf-8")
    )  # universal newlines: the policy has the hash of this text


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
