#include "crunch.h"

#ifdef Py_GIL_DISABLED
MODULE(wrong, {Py_mod_gil, Py_MOD_GIL_USED},)
#else
MODULE(wrong)
#endif
