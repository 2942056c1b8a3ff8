"""A module of which no code runs beside the threads: its class has no function."""

import operator


class Job:
    _status = "new"
    status = property(operator.attrgetter("_status"))
