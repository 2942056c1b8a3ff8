"""The version of this release, in the one place from which the build, the command line, reports and the documentation take it."""

__version__ = "0.1.0"
