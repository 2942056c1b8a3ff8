"""A search whose program kills the process, makes a call that never returns, or leaves it in another state: what becomes of it."""
