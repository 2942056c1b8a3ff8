"""Variables of a C or C++ file that its functions change, `static mut` in Rust, and globals in Cython.

Precision comes before completeness, as in the rules for Python: a variable is named where a function writes to it that takes no
lock, and that does not look like one which runs at import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .pattern import Pattern

_DECLARED = re.compile(
    r"^[ \t]*static\s+(?P<type>(?:[A-Za-z_][\w:]*(?:<[^;{}()]*>)?[\s*&]+)+?)(?P<name>[A-Za-z_]\w*)"
    r"\s*(?:\[[^\]\n]*\]\s*)*(?:=|;|\{)",
    re.MULTILINE,
)
_NOT_SHARED = re.compile(  # of one thread, made to be shared, or filled in when the module is made
    r"\b(?:thread_local|_Thread_local|__thread|_Atomic|constexpr|inline|typedef|Py(?:Type|Module|Method|GetSet|Member)\w*"
    r"|PyModuleDef\w*|PyStructSequence\w*)\b|\batomic|mutex|[Ll]ock|[Oo]nce|tss|TLS|pthread_key"
)
_LOCKED = re.compile(
    r"mutex|(?:[Ll]ock|LOCK)\w*(?:\s+\w+)?\s*[(<{]|CRITICAL|_once\b|Once|omp critical"
    r"|\b__?atomic|\b__sync_|\bInterlocked|PyThread_acquire|PyGILState_Ensure"
)
_AT_IMPORT = re.compile(  # or at the end, or only where the caller has the lock
    r"init|exec|setup|set_up|register|module|import|create|main|ready"
    r"|fini|clear|free|dealloc|atexit|cleanup|lock_?held|locked",
    re.IGNORECASE,
)
_OPENS = re.compile(r"[{}]")
_SIGNATURE = re.compile(r"([A-Za-z_]\w*)\s*\((?:[^()]|\([^()]*\))*\)[^;{}()=]*$")
_LAMBDA = re.compile(
    r"\.\s*def\w*\s*\([^;{}]*\[[^\[\]]*\]\s*(?:\((?:[^()]|\([^()]*\))*\))?[^;{}()\[\],]*$"
)  # that Python will call
_INITIALISED = re.compile(r"\)\s*:[^:].*$", re.DOTALL)  # the members that a constructor in C++ begins with
_OF_DEF = "a lambda for Python"
_FILLS = r"(?:memcpy|memmove|memset|strcpy|strncpy|strcat|strncat|sprintf|snprintf|PyOS_snprintf)"
_CHANGES = (
    r"(?:push|pop|emplace|insert|erase|resize|assign|append|try_emplace)(?:_back|_front|_hint|_or_assign)?"  # containers of C++
)
_STATIC_MUT = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?static\s+mut\s+(\w+)", re.MULTILINE)
_ABSENT = re.compile(r"^(?P<indent>[ \t]+)if[ \t]+[^\n]*?\bnot[ \t]+in[ \t]+(?P<name>\w+)[ \t]*:(?P<same>[^\n]*)$", re.MULTILINE)
_GLOBAL = re.compile(r"^(?P<indent>[ \t]+)global[ \t]+(?P<names>\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*$", re.MULTILINE)


def of_c(bare: str, file: str) -> Iterator[Pattern]:
    """The static variables of a file, without comments and literals, that functions change."""
    functions = list(_functions(bare))
    for declared in _DECLARED.finditer(bare):
        type_, name = declared["type"], declared["name"]
        if _NOT_SHARED.search(type_ + name) or _is_constant(type_):
            continue
        place = declared.start()
        own = [one for one in functions if one[1] <= place < one[2]]
        if (found := _written(bare, name, own or [one for one in functions if one[1] > place])) is not None:
            function, at = found
            line = bare.count("\n", 0, at) + 1
            yield Pattern("GA324", file, line, f"static {name} is changed in {function} without a lock", "", name)


def _written(bare: str, name: str, functions: list[tuple[str, int, int]]) -> tuple[str, int] | None:
    """The first function that changes a variable without a lock, and where."""
    written = re.compile(
        rf"(?:\+\+|--)\s*{name}\b|\b{_FILLS}\s*\(\s*{name}\b|(?<![\w.>]){name}\s*\.\s*{_CHANGES}\s*\("
        rf"|(?<![\w.>]){name}\s*(?:\[[^\]\n]*\]\s*|(?:\.|->)\s*\w+\s*)*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    )
    for function, begin, end in functions:
        if _AT_IMPORT.search(function) or _LOCKED.search(bare, begin, end):
            continue
        for match in written.finditer(bare, begin, end):
            if not _declares(bare, begin, match.start()) and not _hidden(bare, name, begin, match.start()):
                return function, match.start()
    return None


def of_rust(bare: str, file: str) -> Iterator[Pattern]:
    """Every ``static mut``: Rust has no use of it that is free of races without a lock beside it."""
    for match in _STATIC_MUT.finditer(bare):
        line = bare.count("\n", 0, match.start(1)) + 1
        yield Pattern("GA324", file, line, f"static mut {match[1]} has no lock of its own", "", match[1])


def of_cython(bare: str, file: str) -> Iterator[Pattern]:
    """Globals that a function tests and sets, or reads, changes and writes back; dictionaries that are asked before a store."""
    for match in _ABSENT.finditer(bare):
        name, body = match["name"], match["same"] + "\n" + _block(bare, match, deeper=True)
        made = re.search(rf"^(?:cdef[ \t]+)?(?:dict[ \t]+|object[ \t]+)?{name}[ \t]*(?::[^=\n]*)?=", bare, re.MULTILINE)
        stored = re.search(rf"\b{name}[ \t]*\[[^\]\n]*\][ \t]*=(?!=)", body)
        if made and stored and not _LOCKED.search(body) and not _in_a_lock(bare, match):
            line = bare.count("\n", 0, match.start("name")) + 1
            set_in = line + body.count("\n", 0, stored.start())
            message = f"a key is looked for in {name} here and stored in line {set_in}, without a lock"
            yield Pattern("GA302", file, line, message, "", name)
    for match in _GLOBAL.finditer(bare):
        body = _block(bare, match)
        if _LOCKED.search(body) or re.search(r"\block\b|with\s+gil_lock|\.acquire\(", body):
            continue
        for name in re.split(r"[ \t]*,[ \t]*", match["names"]):
            first = bare.count("\n", 0, match.end()) + 1
            assigned = re.search(rf"(?:^[ \t]+|:[ \t]*){name}[ \t]*=(?!=)", body, re.MULTILINE)
            unset = re.search(rf"\bif[ \t]+(?:not[ \t]+{name}\b|{name}[ \t]+is[ \t]+None\b|{name}[ \t]*==[ \t]*NULL\b)", body)
            changed = re.search(rf"^[ \t]+{name}[ \t]*(?:(?:[-+*/%&|^]|//|<<|>>)=|=[ \t]*{name}\b)", body, re.MULTILINE)
            if unset and assigned and assigned.start() > unset.start():
                line = first + body.count("\n", 0, unset.start())
                set_in = first + body.count("\n", 0, assigned.start())
                yield Pattern("GA301", file, line, f"{name} is tested here and set in line {set_in}, without a lock", "", name)
            elif changed:
                line = first + body.count("\n", 0, changed.start())
                yield Pattern("GA307", file, line, f"{name} is read, changed and written back without a lock", "", name)


def _is_constant(type_: str) -> bool:
    """Whether a variable of this type is never assigned to; what a pointer points to says nothing about the pointer."""
    return "const" in type_.rpartition("*")[2].split() or type_.endswith("const")


def _functions(bare: str) -> Iterator[tuple[str, int, int]]:
    """The name of each function, and where its body begins and ends. Namespaces, classes and ``extern "C"`` are opened up.

    A lambda that a function gives to ``.def`` runs when Python calls it, and not with that function: it is one of its own.
    """
    opened: list[tuple[str, int]] = []  # of each brace, the function that it begins, or nothing, and its place
    last = 0  # the end of what came before
    for match in _OPENS.finditer(bare):
        if match[0] == "{":
            inside = any(name for name, _ in opened)
            before = bare[max(last, match.start() - 2000) : match.start()]
            signature = None if inside else _SIGNATURE.search(_INITIALISED.sub(")", before))
            name = signature[1] if signature else _OF_DEF if inside and _LAMBDA.search(before) else ""
            opened.append((name, match.end()))
        elif opened:
            name, begin = opened.pop()
            if name:
                yield name, begin, match.start()
        last = match.end()


def _declares(bare: str, begin: int, place: int) -> bool:
    """Whether a type comes before the name: it is a variable of the function."""
    before = bare[max(begin, place - 80) : place].rstrip()
    word = re.search(r"[\w>]+$", before.rstrip("*& \t"))
    return word is not None and word[0] not in ("return", "else", "do", "case", "goto")


def _hidden(bare: str, name: str, begin: int, place: int) -> bool:
    """Whether a variable of the function has the same name."""
    pattern = (
        rf"(?:^|[;{{(,])\s*(?!return\b|else\b|static\b)[A-Za-z_][\w:<>]*[\s*&]+{name}\s*(?:=|;|,|\)|\[)"
        rf"|,\s*(?:\*\s*)*{name}\s*(?:=(?!=)|;)|,\s*\*[\s*]*{name}\s*,"
    )
    signature = max(bare.rfind(";", 0, begin), bare.rfind("}", 0, begin)) + 1
    return re.search(pattern, bare[signature:place], re.MULTILINE) is not None


def _in_a_lock(bare: str, first: re.Match[str]) -> bool:
    """Whether a line is in the block of a ``with`` of a lock."""
    indent = first["indent"]
    for line in reversed(bare[: first.start()].split("\n")):
        if line.strip() and len(own := line[: len(line) - len(line.lstrip())]) < len(indent):
            indent = own
            if re.match(r"\s*with\b.*lock", line):
                return True
    return False


def _block(bare: str, first: re.Match[str], *, deeper: bool = False) -> str:
    """What follows a line as long as it is indented as much, or deeper, from the next line on."""
    lines = []
    for line in bare[first.end() + 1 :].split("\n"):
        rest = line.removeprefix(first["indent"])
        if line.strip() and (rest == line or (deeper and not rest[0].isspace())):
            break
        lines.append(line)
    return "\n".join(lines)
