"""Stress: the program with threads that run at the same time, many instances a second, in child processes."""
