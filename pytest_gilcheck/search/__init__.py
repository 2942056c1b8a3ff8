"""Decides which schedule is next, by what the runs before it were like."""
