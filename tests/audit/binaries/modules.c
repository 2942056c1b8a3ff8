/* Extension modules in every form of the GIL declaration, for every platform that the audit reads.
   No header of Python is needed: the layouts below are those of CPython 3.13 and 3.15 (PEP 703, 793, 820), so that one compiler
   can build all platforms. `build.py` says how the files beside this one were made; the tests build it again with gcc. */

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#define API __declspec(dllimport)
#else
#define EXPORT __attribute__((visibility("default")))
#define API extern
#endif

#if defined(GIL_BUILD)
typedef struct { intptr_t refcount; void *type; } Object;
#else
typedef struct { uintptr_t thread; uint16_t flags; uint8_t mutex, bits; uint32_t local; intptr_t shared; void *type; } Object;
#endif
typedef struct { Object head; void *init; intptr_t index; void *copy; } Base;
typedef struct { int slot; void *value; } Slot;
typedef struct { Base base; const char *name, *doc; intptr_t size; void *methods; Slot *slots; void *traverse, *clear, *release; } Definition;
typedef struct { uint16_t id, flags; uint32_t reserved; void *value; } NewSlot;

API void *PyModuleDef_Init(Definition *);
API void *PyModule_Create2(Definition *, int);
API int PyUnstable_Module_SetGIL(void *, void *);
API void *PyState_FindModule(Definition *);
API void *PyImport_ImportModule(const char *);
API void PyErr_SetString(void *, const char *);
API void *PyErr_Occurred(void);
API void _Py_Dealloc(void *);

static int execute(void *module) { return 0; }

#define MULTI(NAME, ...) \
    static Slot NAME##_slots[] = {{2, (void *)execute}, __VA_ARGS__ {0, NULL}}; \
    static Definition NAME##_definition = {.name = #NAME, .slots = NAME##_slots}; \
    EXPORT void *PyInit_##NAME(void) { return PyModuleDef_Init(&NAME##_definition); }

MULTI(multi_free, {3, (void *)2}, {4, (void *)1},)
MULTI(multi_used, {4, (void *)0},)
MULTI(multi_silent)

static Slot multi_bare_slots[] = {{0, NULL}};
static Definition multi_bare_definition = {.name = "multi_bare", .slots = multi_bare_slots};
EXPORT void *PyInit_multi_bare(void) { return PyModuleDef_Init(&multi_bare_definition); }

static Definition multi_empty_definition = {.name = "multi_empty"};
EXPORT void *PyInit_multi_empty(void) { return PyModuleDef_Init(&multi_empty_definition); }

/* slots that are filled when the module is initialised, as pybind11 does it */
static Slot multi_filled_slots[4];
static Definition multi_filled_definition = {.name = "multi_filled", .slots = multi_filled_slots};
EXPORT void *PyInit_multi_filled(void) {
    multi_filled_slots[0] = (Slot){2, (void *)execute};
    multi_filled_slots[1] = (Slot){4, (void *)1};
    return PyModuleDef_Init(&multi_filled_definition);
}

/* slots whose value comes from elsewhere: nobody can tell */
static Slot multi_computed_slots[] = {{2, (void *)execute}, {4, NULL}, {0, NULL}};
static Definition multi_computed_definition = {.name = "multi_computed", .slots = multi_computed_slots};
EXPORT void *PyInit_multi_computed(void) {
    multi_computed_slots[1].value = PyImport_ImportModule("somewhere");
    return PyModuleDef_Init(&multi_computed_definition);
}

#define SINGLE(NAME) static Definition NAME##_definition = {.name = #NAME, .size = -1};

SINGLE(single_free)
EXPORT void *PyInit_single_free(void) {
    void *module = PyModule_Create2(&single_free_definition, 1013);
    if (module == NULL) return NULL;
    PyUnstable_Module_SetGIL(module, (void *)1);
    return module;
}

SINGLE(single_used)
EXPORT void *PyInit_single_used(void) {
    void *module = PyModule_Create2(&single_used_definition, 1013);
    if (module == NULL) return NULL;
    PyUnstable_Module_SetGIL(module, (void *)0);
    return module;
}

SINGLE(single_silent)
EXPORT void *PyInit_single_silent(void) { return PyModule_Create2(&single_silent_definition, 1013); }

/* declares it in a function of its own, with the argument handed through, and with ways that fail */
static int declare(void *module, void *value) { return PyUnstable_Module_SetGIL(module, value); }
SINGLE(single_through)
EXPORT void *PyInit_single_through(void) {
    void *module = PyState_FindModule(&single_through_definition);
    if (module != NULL) return module;
    if (PyImport_ImportModule("needed") == NULL) {
        PyErr_SetString(NULL, "needed is not there");
        return NULL;
    }
    module = PyModule_Create2(&single_through_definition, 1013);
    if (module == NULL) return NULL;
    if (PyErr_Occurred()) return module;
    if (declare(module, (void *)1) < 0) {
        _Py_Dealloc(module);
        return NULL;
    }
    return module;
}

/* declares it on one of two ways that both succeed: nobody can tell */
SINGLE(single_sometimes)
EXPORT void *PyInit_single_sometimes(void) {
    void *module = PyModule_Create2(&single_sometimes_definition, 1013);
    if (module == NULL) return NULL;
    if (PyImport_ImportModule("somewhere") != NULL) PyUnstable_Module_SetGIL(module, (void *)1);
    return module;
}

#define NEW(NAME, ...) \
    static NewSlot NAME##_slots[] = {{100, 0, 0, #NAME}, {85, 0, 0, (void *)execute}, __VA_ARGS__ {0, 0, 0, NULL}}; \
    EXPORT void *PyModExport_##NAME(void) { return NAME##_slots; }

NEW(export_free, {86, 0, 0, (void *)1}, {87, 0, 0, (void *)1},)
NEW(export_used, {87, 0, 0, (void *)0},)
NEW(export_silent)

/* an array inside an array */
static NewSlot inner[] = {{87, 0, 0, (void *)1}, {0, 0, 0, NULL}};
NEW(export_nested, {92, 0, 0, inner},)
