"""Workloads that a new interpreter can import."""

import time


def sleeps():
    time.sleep(60)


def sums():
    sum(range(10**9))


def swallows():
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            continue
