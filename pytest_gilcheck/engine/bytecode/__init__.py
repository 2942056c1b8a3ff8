"""Visible steps: where a switch to another thread can make a difference."""
