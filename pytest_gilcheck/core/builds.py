"""The two kinds of build by name. `interpreter` says which one runs; this module costs nothing to import."""

GIL = "gil"
FREE_THREADED = "free-threaded"
BUILDS = (GIL, FREE_THREADED)
