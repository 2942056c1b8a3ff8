"""How this interpreter was built."""

import sysconfig

FREE_THREADED_BUILD = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # it may run without a GIL
