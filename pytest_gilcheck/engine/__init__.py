"""Runs a program of several threads under a policy, one thread at a time, and says what the run was like. It decides nothing."""
