"""C extensions, built when a test wants them: one that does not declare that it runs without a GIL, and its twins."""

import atexit
import functools
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from tests.interrupt.holder import compiler

FREE_THREADED_BUILD = "free-threading" in sys.version
needs_free_threading = pytest.mark.skipif(not FREE_THREADED_BUILD, reason="this build's GIL is always on")

_MULTI = """
#include <Python.h>
static PyModuleDef_Slot slots[] = {
#if defined(DECLARED) && defined(Py_GIL_DISABLED)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, NAME, NULL, 0, NULL, slots};
PyMODINIT_FUNC INIT(void) {
#ifdef IMPORTS
    PyObject *other = PyImport_ImportModule(IMPORTS);
    if (other == NULL) return NULL;
    Py_DECREF(other);
#endif
    return PyModuleDef_Init(&module);
}
"""
_SINGLE = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, NAME, NULL, -1, NULL};
PyMODINIT_FUNC INIT(void) { return PyModule_Create(&module); }
"""
_ALL = {
    "ext_needs": (_MULTI, []),  # the GIL
    "ext_free": (_MULTI, ["-DDECLARED"]),
    "ext_single": (_SINGLE, []),  # the old way, which cannot declare anything by a slot
    "ext_outer": (_MULTI, ["-DDECLARED", '-DIMPORTS="ext_needs"']),  # declares, and imports one that does not
    "ext_outer_needs": (_MULTI, ['-DIMPORTS="ext_free"']),  # the other way round
}


@functools.cache
def built():
    """The folder with all of them, compiled for this interpreter; skips where that cannot be."""
    found, headers = compiler()
    if found is None:
        pytest.skip(headers)
    folder = Path(tempfile.mkdtemp(prefix="gilcheck-extensions-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, (source, options) in _ALL.items():
        (folder / f"{name}.c").write_text(source)
        target = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        names = [f'-DNAME="{name}"', f"-DINIT=PyInit_{name}"]
        command = [found, "-shared", "-fPIC", f"-I{headers}", *names, *options, "-o", target, folder / f"{name}.c"]
        subprocess.run(command, check=True)
    return folder
