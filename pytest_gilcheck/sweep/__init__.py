"""The sweep of a whole suite, as far as it knows nothing of pytest."""
