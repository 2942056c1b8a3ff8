"""Programs with two threads that race in the middle of Python code of the standard library.

Each is (setup, two threads, invariant). With `State.lock` around both threads, it is correct.
"""

import atexit
import configparser
import csv
import graphlib
import gzip
import io
import json
import os
import shutil
import tempfile
import weakref
import xml.dom.minidom
from email.message import Message
from pathlib import Path

from .unseen import State


class Object:
    pass


class Saved(State):
    """A file that one thread writes and the other one reads, and a folder that one of them makes."""

    folder = Path(tempfile.mkdtemp(prefix="gilcheck-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

    def __init__(self):
        super().__init__()
        self.path, self.source, self.made = self.folder / "file", self.folder / "source", self.folder / "made"
        self.path.write_text("old")
        self.source.write_text("new")
        shutil.rmtree(self.made, ignore_errors=True)


def write_file(s):
    s.path.write_text("new")


def copy_file(s):
    shutil.copyfile(str(s.source), str(s.path))


def read_file(s):
    s.seen = s.path.read_text()


def make_folders(s):
    os.makedirs(s.made / "a" / "b")


def look_into_folder(s):
    try:
        s.seen = os.listdir(s.made)
    except FileNotFoundError:
        s.seen = None


class Mixed(State):
    def __init__(self):
        super().__init__()
        self.out, self.values = io.StringIO(), {"a": 1, "b": 2}
        self.writer = csv.DictWriter(self.out, ("a", "b", "c"))
        self.config, self.sections = configparser.ConfigParser(), []
        self.graph = graphlib.TopologicalSorter({"house": {"wall", "roof"}})
        self.graph.prepare()
        self.graph.get_ready()
        self.message = Message()
        self.message["A"] = "1"
        self.element = xml.dom.minidom.parseString("<list/>").documentElement
        self.cache, self.kept, self.found = weakref.WeakValueDictionary(), [Object(), Object()], []
        self.cache["first"] = self.kept[0]


def dump_values(s):
    json.dump(s.values, s.out)


def add_value(s):
    s.values["c"] = 3


def write_row(s):
    s.writer.writerow(s.values)


def replace_values(s):
    s.values["a"] = 5
    s.values["b"] = 6


def add_section(s):
    try:
        s.config.add_section("new")
    except configparser.DuplicateSectionError:
        return
    s.sections.append("new")


def build_wall(s):
    s.graph.done("wall")


def build_roof(s):
    s.graph.done("roof")


def drop_header(s):
    del s.message["A"]


def add_header(s):
    s.message["B"] = "2"


def append_item(s):
    s.element.appendChild(s.element.ownerDocument.createElement("item"))


def linked(s):
    first, second = s.element.childNodes
    return first.nextSibling is second and second.previousSibling is first


def intern_one(s):
    s.found.append(s.cache.setdefault("second", Object()))


def go_through_cache(s):
    s.seen = list(s.cache.values())


def add_to_cache(s):
    s.cache["second"] = s.kept[1]


class Packed(State):
    def __init__(self):
        super().__init__()
        self.packed = io.BytesIO()
        self.file = gzip.GzipFile(fileobj=self.packed, mode="wb")


def pack_text(s):
    (s.file._write_raw if hasattr(s.file, "_write_raw") else s.file.write)(b"text")  # 3.12 has a buffer before it


def unpacked(s):
    s.file.close()
    try:
        return gzip.decompress(s.packed.getvalue()) == b"texttext"
    except gzip.BadGzipFile:
        return False


RACES = {
    "Path.write_text": (Saved, write_file, read_file, lambda s: s.seen in ("old", "new")),
    "shutil.copyfile": (Saved, copy_file, read_file, lambda s: s.seen in ("old", "new")),
    "os.makedirs": (Saved, make_folders, look_into_folder, lambda s: s.seen in (None, ["a"])),
    "json.dump": (Mixed, dump_values, add_value, lambda s: True),
    "csv.DictWriter": (Mixed, write_row, replace_values, lambda s: s.out.getvalue()[:3] in ("1,2", "5,2", "5,6")),
    "ConfigParser.add_section": (Mixed, add_section, add_section, lambda s: len(s.sections) == 1),
    "TopologicalSorter.done": (Mixed, build_wall, build_roof, lambda s: s.graph.get_ready() == ("house",)),
    "Message.__delitem__": (Mixed, drop_header, add_header, lambda s: s.message["B"] == "2"),
    "Node.appendChild": (Mixed, append_item, append_item, linked),
    "WeakValueDictionary.setdefault": (Mixed, intern_one, intern_one, lambda s: s.found[0] is s.found[1]),
    "WeakValueDictionary.values": (Mixed, go_through_cache, add_to_cache, lambda s: True),
    "GzipFile.write": (Packed, pack_text, pack_text, unpacked),
}
