"""Explaining a failing run: its steps, the values they read and wrote, and the pair of accesses that decides."""
