"""A program whose attributes are keys, by a function in C. (In a file of its own: of such a file, every name may change.)"""


class Options(dict):
    __getattr__ = dict.get


class Stored:
    """Somebody else stores an attribute of the name that `Options` look up."""

    def __init__(self):
        self.title = "x"


class State:
    def __init__(self):
        self.options, self.seen = Options(title="abc"), 0


def unset_title(s):
    s.options["title"] = None


def length_of_title(s):
    options = s.options
    if options.title is not None:
        s.seen = len(options.title)
