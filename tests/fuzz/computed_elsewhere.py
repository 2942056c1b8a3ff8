"""Classes and decorators of a module of which no code runs: only the values in the classes tell what is computed."""

import operator


class WithStatus:
    status = property(operator.attrgetter("_status"))


def with_status(kind):
    kind.status = property(operator.attrgetter("_status"))
    return kind


class Fields(type):
    def __new__(mcs, name, bases, members):
        return super().__new__(mcs, name, bases, members | {each: stored(f"_{each}") for each in members.get("FIELDS", ())})


def stored(name):
    return property(operator.attrgetter(name))


class Named:
    def __set_name__(self, owner, name):
        owner.status = property(operator.attrgetter("_status"))
