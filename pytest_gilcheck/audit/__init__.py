"""The audit of a release: contradictions between what it claims about free-threaded Python and what is known of it."""
