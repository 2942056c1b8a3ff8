"""Something is made when it is first needed, or shown before it is complete."""

from threading import Lock

from .case import BREAKS, MASKED, case


class Settings:
    """Two threads find nothing there, and each goes on with a dictionary of its own."""

    def __init__(self):
        self.lock = Lock()
        self.made = None

    @property
    def values(self):
        if self.made is None:
            self.made = {}
        return self.made


class FixedSettings(Settings):
    @property
    def values(self):
        with self.lock:
            return super().values


def set_one(settings):
    settings.values["one"] = 1


def set_two(settings):
    settings.values["two"] = 2


def both_set(settings):
    return settings.values == {"one": 1, "two": 2}


LAZY_PROPERTY = case("lazy_property", Settings, FixedSettings, (set_one, set_two), both_set, kind=MASKED)


class computed_once:
    """A property that is computed when it is first asked for: by both who ask for the first time."""

    def __init__(self, function):
        self.lock = Lock()
        self.function = function
        self.name = function.__name__

    def __get__(self, instance, owner):
        values = instance.__dict__
        if self.name not in values:
            values[self.name] = self.function(instance)
        return values[self.name]


class really_computed_once(computed_once):
    def __get__(self, instance, owner):
        with self.lock:
            return super().__get__(instance, owner)


def rows(report):
    return ["row"]


class Report:
    rows = computed_once(rows)

    def __init__(self):
        self.first = self.second = None


class FixedReport(Report):
    rows = really_computed_once(rows)


def read_first(report):
    report.first = report.rows


def read_second(report):
    report.second = report.rows


def read_the_same(report):
    return report.first is report.second


CACHED_PROPERTY = case("cached_property", Report, FixedReport, (read_first, read_second), read_the_same, kind=BREAKS)


class Start:
    """It is marked as done when it has been done: until then, others do it too."""

    def __init__(self):
        self.lock = Lock()
        self.done = False
        self.times = []

    def run(self):
        self.times.append("now")

    def once(self):
        if not self.done:
            self.run()
            self.done = True


class FixedStart(Start):
    def once(self):
        with self.lock:
            super().once()


def once(start):
    start.once()


def done_once(start):
    return start.times == ["now"]


ONCE = case("once", Start, FixedStart, (once, once), done_once, kind=BREAKS)


class Table:
    """It is marked as loaded before it has been: others go on without it."""

    def __init__(self):
        self.lock = Lock()
        self.loaded = False
        self.rows = None

    def load(self):
        self.rows = {"key": 1}

    def find(self):
        if not self.loaded:
            with self.lock:
                if not self.loaded:
                    self.loaded = True
                    self.load()
        return self.rows["key"]


class FixedTable(Table):
    def find(self):
        if not self.loaded:
            with self.lock:
                if not self.loaded:
                    self.load()
                    self.loaded = True
        return self.rows["key"]


def find(table):
    table.find()


MARKED_TOO_EARLY = case("marked_too_early", Table, FixedTable, (find, find), kind=BREAKS, symptom="exception")


class Plugins:
    """Double-checked locking without the second check: who has waited for the lock loads them again."""

    def __init__(self):
        self.lock = Lock()
        self.plugins = None
        self.loads = []

    def load(self):
        self.loads.append("now")
        return ["plugin"]

    def get(self):
        if self.plugins is None:
            with self.lock:
                self.plugins = self.load()
        return self.plugins


class FixedPlugins(Plugins):
    def get(self):
        if self.plugins is None:
            with self.lock:
                if self.plugins is None:
                    self.plugins = self.load()
        return self.plugins


def get(plugins):
    plugins.get()


def loaded_once(plugins):
    return plugins.loads == ["now"]


CHECKED_ONCE = case("checked_once", Plugins, FixedPlugins, (get, get), loaded_once, kind=BREAKS)


class Memo:
    """What is not there is computed, by everybody who asks meanwhile."""

    def __init__(self):
        self.lock = Lock()
        self.known = {}
        self.computed = []

    def compute(self, number):
        self.computed.append(number)
        return number * number

    def square(self, number):
        if number not in self.known:
            self.known[number] = self.compute(number)
        return self.known[number]


class FixedMemo(Memo):
    def square(self, number):
        with self.lock:
            return super().square(number)


def square(memo):
    memo.square(3)


def computed_once_only(memo):
    return memo.computed == [3]


MEMOIZE = case("memoize", Memo, FixedMemo, (square, square), computed_once_only, kind=BREAKS)


class Service:
    """It can be found before its fields are there."""

    def __init__(self, directory, name):
        directory[name] = self
        self.name = name


class FixedService:
    def __init__(self, directory, name):
        self.name = name
        directory[name] = self


class Directory:
    service = Service

    def __init__(self):
        self.services = {}
        self.found = ""

    def open(self):
        self.service(self.services, "mail")

    def find(self):
        if "mail" in self.services:
            self.found = self.services["mail"].name


class FixedDirectory(Directory):
    service = FixedService


def open_service(directory):
    directory.open()


def find_service(directory):
    directory.find()


PUBLISHED_BEFORE_INIT = case(
    "published_before_init", Directory, FixedDirectory, (open_service, find_service), kind=MASKED, symptom="exception"
)  # fmt: skip


class Mailbox:
    """The flag says that something is there before it is."""

    def __init__(self):
        self.full = False
        self.letter = None
        self.length = 0

    def put(self):
        self.full = True
        self.letter = "letter"

    def take(self):
        if self.full:
            self.length = len(self.letter)


class FixedMailbox(Mailbox):
    def put(self):
        self.letter = "letter"
        self.full = True


def put(mailbox):
    mailbox.put()


def take(mailbox):
    mailbox.take()


FLAG_BEFORE_DATA = case("flag_before_data", Mailbox, FixedMailbox, (put, take), kind=MASKED, symptom="exception")


class Config:
    """It is cleared and filled again, where others read it."""

    def __init__(self):
        self.values = {"mode": "old"}
        self.seen = ""

    def reload(self):
        self.values.clear()
        self.values.update(mode="new")

    def read(self):
        self.seen = self.values["mode"]


class FixedConfig(Config):
    def reload(self):
        self.values = {"mode": "new"}


def reload(config):
    config.reload()


def read(config):
    config.read()


RELOADED_IN_PLACE = case("reloaded_in_place", Config, FixedConfig, (reload, read), kind=BREAKS, symptom="exception")


CASES = (
    LAZY_PROPERTY, CACHED_PROPERTY, ONCE, MARKED_TOO_EARLY, CHECKED_ONCE, MEMOIZE, PUBLISHED_BEFORE_INIT, FLAG_BEFORE_DATA,
    RELOADED_IN_PLACE,
)  # fmt: skip
