"""Workloads that a new interpreter can import."""

import builtins
import os
import sys
import tempfile
import time

if os.environ.get("GILCHECK_TEST_SLOW_HOOK"):
    sys.excepthook = lambda kind, error, trace: time.sleep(60)


def sleeps():
    time.sleep(60)


def sleeps_without_len():
    builtins.len = None
    time.sleep(60)


def sums():
    sum(range(10**9))


def swallows():
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            continue


class Lingering:
    """Its finalizer takes longer than anybody waits."""

    def __del__(self, sleep=time.sleep):
        if kept:
            sleep(60)


kept = []
lingering = Lingering()


def leaves_a_slow_finalizer():
    kept.append(1)
    time.sleep(60)


def sleeps_with_a_folder():
    with tempfile.TemporaryDirectory():
        time.sleep(60)
