"""Programs that store or read a name in a way that no instruction shows, whose words keep a whole file from proofs."""

from .features import Point


def alias(s, put=setattr):
    put(s, "n", s.n + 1)


def store_by_a_name_of_a_class(s):
    s.seen = Point.__dict__["y"]


NOT_KNOWN = {"setattr by another name": alias, "a class's own dict": store_by_a_name_of_a_class}
