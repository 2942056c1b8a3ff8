"""``python -m pytest_gilcheck`` is the command ``gilcheck``."""

import sys

from .cli import main

sys.exit(main())
