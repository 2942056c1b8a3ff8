# `pytest examples` runs what needs nothing but Python and pip. These need servers, other interpreters or more time: each is run by
# its own command, in its own README, and all of them by ./run. A folder that is named on the command line is never ignored.
collect_ignore = ["blocking_io", "dive_into_gil", "inside_the_gil", "no_gil_benchmarks", "processes_threads_coroutines"]
