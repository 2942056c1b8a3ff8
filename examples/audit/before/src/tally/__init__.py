"""Counts words, with the patterns that a GIL makes harmless for most of the time."""

import threading

_words = {}
_total = 0
_reader = None
_state = threading.local()
_state.depth = 0


class Reader:
    """Reads words, and remembers all of them in one list for every reader."""

    seen = []

    def read(self, text):
        self.seen.append(text)
        return text.split()


def reader():
    global _reader
    if _reader is None:
        _reader = Reader()
    return _reader


def count(text):
    global _total
    for word in reader().read(text):
        if word not in _words:
            _words[word] = 0
        _words[word] += 1
        _total += 1
    return _total


def most_common():
    with threading.Lock():
        return max(_words, key=_words.get)
