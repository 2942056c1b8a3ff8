"""Sphinx builds the documentation: ``sphinx-build -W -b html docs OUT`` (``.ci/run`` does, with warnings as errors)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the code of this checkout, and not another that is installed

from pytest_gilcheck.core.version import __version__

project = "pytest-gilcheck"
author = copyright = "The pytest-gilcheck developers"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.intersphinx", "sphinx_copybutton"]
intersphinx_mapping = {}  # the build needs no network
exclude_patterns = ["tools", "_build"]
html_theme = "furo"
html_title = f"pytest-gilcheck {release}"
html_static_path = ["_static"]
html_copy_source = False
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.xref_missing"]  # links to files that are no pages, which tests/docs checks
nitpicky = False
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_use_ivar = True
napoleon_google_docstring = True
