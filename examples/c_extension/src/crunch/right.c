#include "crunch.h"

#ifdef Py_GIL_DISABLED
MODULE(right, {Py_mod_gil, Py_MOD_GIL_NOT_USED},)
#else
MODULE(right)
#endif
