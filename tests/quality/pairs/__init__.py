"""Pairs of a buggy program and its fixed twin, written before the engine was read.

A pair is a class with ``Buggy`` and ``Fixed`` (each makes a state), ``threads`` (functions of the state), and ``holds`` (of the
state, after the threads; may be left out). See `declare.pair`; `declare.load` returns all of them.
"""
