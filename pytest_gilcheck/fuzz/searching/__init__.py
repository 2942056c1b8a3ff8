"""Searching the schedules of a program for one that breaks it."""
