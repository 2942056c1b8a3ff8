"""Is this class correct under threads? Drawn operations, searched schedules, and the question whether any order explains it."""
