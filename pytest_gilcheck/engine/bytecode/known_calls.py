"""What calls in C touch, by their names: this is the table to edit, to teach the effect of a function that is not in it.

Of a function that is not here, and of a method of an object that is no container, iterator or value, it is guessed (`effects`).
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from re import Pattern
from struct import Struct
from uuid import UUID
from weakref import ref

LOOKS = "looks at none of its arguments"
GOES_THROUGH = "reads which elements its arguments have"
READS = "reads its arguments, and the elements of these"
CHANGES_FIRST = "changes its first argument, and reads the others"
OUTSIDE = "changes files or processes"

_ROWS = {  # by module: by effect, functions; ``*`` for all others of the module
    "builtins": {
        LOOKS: "isinstance issubclass callable id globals locals vars iter aiter chr input breakpoint __build_class__ __import__",
        GOES_THROUGH: "len next anext",
        READS: "abs all any ascii bin divmod format hash hex max min oct ord pow repr round sorted sum dir",
    },
    "_bisect": {READS: "bisect_left bisect_right", CHANGES_FIRST: "*"},
    "_collections": {CHANGES_FIRST: "_count_elements"},
    "_heapq": {CHANGES_FIRST: "*"},
    "_operator": {
        CHANGES_FIRST: "setitem delitem iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv ixor",
        READS: "*",
    },
    "_thread": {LOOKS: "get_ident get_native_id"},
    "sys": {LOOKS: "_getframe exc_info exception intern getsizeof getrefcount getrecursionlimit is_finalizing"},
}
_PURE = """
 _abc _ast _blake2 _bz2 _codecs _contextvars _csv _datetime _functools _hashlib _json _locale _lzma _md5 _opcode _pickle _random
 _sha2 _sre _statistics _string _struct _typing _uuid _warnings _weakref _zoneinfo binascii cmath decimal itertools marshal
 math time unicodedata zlib
"""
_OF_THE_SYSTEM = "_io io _posixsubprocess _socket _sqlite3 _winapi fcntl mmap msvcrt nt posix select signal"
_OF_NOTHING_OUTSIDE = "getpid getppid getuid fspath cpu_count urandom strerror get_terminal_size sched_yield"
EFFECTS = {f"{module}.{name}": effect for module, row in _ROWS.items() for effect, names in row.items() for name in names.split()}
EFFECTS |= {f"{module}.*": READS for module in _PURE.split()}
EFFECTS |= {f"{module}.*": OUTSIDE for module in _OF_THE_SYSTEM.split()}
EFFECTS |= {f"{module}.{name}": LOOKS for module in ("posix", "nt") for name in _OF_NOTHING_OUTSIDE.split()}

_READING = """
 copy count index keys values items get union difference intersection symmetric_difference issubset issuperset isdisjoint
 __len__ __contains__ __iter__ __getitem__ __reversed__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __repr__ __str__ __format__
 __hash__ __copy__ __deepcopy__ __reduce__ __reduce_ex__ __sizeof__ __dir__ __getstate__ __or__ __ror__ __and__ __sub__ __add__
 __radd__ __mul__ __get__ find rfind rindex startswith endswith join format decode iterencode raw_decode hex tobytes tolist
 getvalue tell fileno isatty readable writable seekable digest hexdigest locked is_set is_alive qsize empty full group groups
 groupdict span
"""
_KEEPING = """
 append appendleft insert add discard remove pop popleft popitem clear setdefault get put put_nowait __setitem__ __delitem__
 __getitem__ __contains__ __len__ __iter__ move_to_end rotate reverse send throw close
"""
READING_METHODS = frozenset(_READING.split())  # they do not change their object
KEEPING_METHODS = frozenset(_KEEPING.split())  # they ask no more of their arguments than whether they are equal to something
VALUES = frozenset({date, datetime, time, timedelta, timezone, Decimal, Fraction, UUID, Pattern, Struct, ref})
"""Classes whose objects never change."""
