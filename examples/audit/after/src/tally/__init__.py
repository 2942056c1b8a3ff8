"""Counts words, in objects that say what may be shared."""

import threading


class Tally:
    """Counts words. Shared: its methods may be called from any thread; one lock guards the counts."""

    def __init__(self):
        self._lock = threading.Lock()
        self._words = {}
        self._total = 0

    def count(self, text):
        words = text.split()
        with self._lock:
            for word in words:
                self._words[word] = self._words.get(word, 0) + 1
            self._total += len(words)
            return self._total

    def most_common(self):
        with self._lock:
            return max(self._words, key=self._words.get)
