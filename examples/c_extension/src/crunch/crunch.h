/* The functions of all three modules. They share nothing, so that no lock is needed. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <time.h>

static double now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return moment.tv_sec + moment.tv_nsec * 1e-9;
}

/* xorshift: cannot be computed ahead, and touches no memory */
static uint64_t mix(uint64_t x, long long rounds) {
    for (long long i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static PyObject *hold(PyObject *self, PyObject *args) {
    long long rounds;
    if (!PyArg_ParseTuple(args, "L", &rounds)) return NULL;
    return PyLong_FromUnsignedLongLong(mix(88172645463325252ull, rounds));
}

static PyObject *release(PyObject *self, PyObject *args) {
    long long rounds;
    uint64_t x;
    if (!PyArg_ParseTuple(args, "L", &rounds)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    x = mix(88172645463325252ull, rounds);
    Py_END_ALLOW_THREADS
    return PyLong_FromUnsignedLongLong(x);
}

/* Both compute for so many seconds; only one looks whether a signal has come. */
static PyObject *compute(PyObject *args, int looks) {
    double seconds;
    uint64_t x = 1;
    if (!PyArg_ParseTuple(args, "d", &seconds)) return NULL;
    for (double end = now() + seconds; now() < end;) {
        x = mix(x, 100000);
        if (looks && PyErr_CheckSignals() < 0) return NULL;
    }
    return PyLong_FromUnsignedLongLong(x);
}

static PyObject *deaf(PyObject *self, PyObject *args) { return compute(args, 0); }
static PyObject *attentive(PyObject *self, PyObject *args) { return compute(args, 1); }

static PyMethodDef methods[] = {
    {"hold", hold, METH_VARARGS, "hold(rounds): compute, holding the GIL"},
    {"release", release, METH_VARARGS, "release(rounds): the same, with the GIL released"},
    {"deaf", deaf, METH_VARARGS, "deaf(seconds): compute without looking for signals"},
    {"attentive", attentive, METH_VARARGS, "attentive(seconds): compute, and look for signals"},
    {NULL},
};

#define MODULE(NAME, ...)                                                                              \
    static PyModuleDef_Slot slots[] = {__VA_ARGS__ {0, NULL}};                                         \
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, #NAME, NULL, 0, methods, slots};        \
    PyMODINIT_FUNC PyInit_##NAME(void) { return PyModuleDef_Init(&module); }
