"""Is a workload safe to interrupt? Raises an exception at each of its steps and looks for broken state and leaked resources."""
