"""A search whose program kills the process, or makes a call that never returns: what becomes of it."""
