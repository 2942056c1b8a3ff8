"""A C extension, built when a test needs it: it sleeps in C, and checks for signals or not."""

import functools
import importlib.util
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

SOURCE = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static PyObject *asleep(PyObject *args, int looks) {
    double seconds;
    if (!PyArg_ParseTuple(args, "d", &seconds)) return NULL;
    double end = now() + seconds;
    while (now() < end) {
        struct timespec nap = {0, 20000000};
        nanosleep(&nap, NULL);
        if (looks && PyErr_CheckSignals()) {
            if (looks == 1) return NULL;
            PyErr_Clear();
        }
    }
    Py_RETURN_NONE;
}

static PyObject *hold(PyObject *self, PyObject *args) { return asleep(args, 0); }
static PyObject *look(PyObject *self, PyObject *args) { return asleep(args, 1); }
static PyObject *ignore(PyObject *self, PyObject *args) { return asleep(args, 2); }

/* what a free-threaded interpreter was seen to do: the signal comes right before the wait, and nothing looks in between */
static PyObject *miss(PyObject *self, PyObject *args) {
    double seconds;
    if (!PyArg_ParseTuple(args, "d", &seconds)) return NULL;
    double end = now() + seconds;
    while (now() < end) {
        struct timespec nap = {0, 1000000};
        nanosleep(&nap, NULL);
    }
    Py_BEGIN_ALLOW_THREADS
    pause();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static void nothing(int number) { (void)number; }

static PyObject *take_sigint(PyObject *self, PyObject *args) {
    struct sigaction action = {0};
    action.sa_handler = nothing;
    sigaction(SIGINT, &action, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"hold", hold, METH_VARARGS, "sleep in C and keep the GIL"},
    {"look", look, METH_VARARGS, "the same, checking for signals"},
    {"ignore", ignore, METH_VARARGS, "the same, discarding what their handlers raise"},
    {"miss", miss, METH_VARARGS, "check for no signals for so long, then wait for one"},
    {"take_sigint", take_sigint, METH_NOARGS, "replace the handler below Python"},
    {0},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "holder", NULL, 0, methods, slots};

PyMODINIT_FUNC PyInit_holder(void) { return PyModuleDef_Init(&module); }
"""


def compiler():
    """The C compiler and the folder of Python's headers; or None and the reason."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    headers = Path(sysconfig.get_path("include"))
    if found is None:
        return None, "no C compiler"
    return (found, headers) if (headers / "Python.h").exists() else (None, "no Python headers")


@functools.cache
def built():
    """The extension module, compiled for this interpreter."""
    found, headers = compiler()
    folder = Path(tempfile.mkdtemp(prefix="gilcheck-holder-"))
    (folder / "holder.c").write_text(SOURCE)
    target = folder / f"holder{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([found, "-shared", "-fPIC", "-O1", f"-I{headers}", "-o", target, folder / "holder.c"], check=True)
    spec = importlib.util.spec_from_file_location("holder", target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shutil.rmtree(folder)
    return module
