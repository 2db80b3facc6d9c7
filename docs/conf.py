"""Settings of the documentation: ``sphinx-build -W docs docs/_build/html``."""

import importlib
import os
from types import FunctionType

import sklearn_attnstump

project = "sklearn_attnstump"
author = "The sklearn_attnstump developers"
copyright = author
version = release = sklearn_attnstump.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "Thumbs.db", ".DS_Store"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # of `own_members`, which cannot be pickled

smartquotes = False  # types and defaults are code

# A single pair of backticks in a docstring is a link where there is something to link.
default_role = "py:obj"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings state the types, with shapes
numpydoc_show_class_members = False  # the template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "image_scrapers": ("matplotlib",),
    "reference_url": {"sklearn_attnstump": None},
    "doc_module": ("sklearn_attnstump",),
    "backreferences_dir": None,
}

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "install": [], "changelog": [], "citing": []}

# Links into other projects' documentation need the network; a build without it is
# complete but for them.
if os.environ.get("DOCS_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }


def own_members(fullname):
    """Public methods and properties of a class that this package defines, by name.

    What scikit-learn's bases give, `get_params` and the like, is documented there.
    """
    module, _, name = fullname.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    methods, properties = [], []
    for base in cls.__mro__:
        if not base.__module__.startswith("sklearn_attnstump"):
            continue
        for key, value in vars(base).items():
            if key.startswith("_") or key in methods + properties:
                continue
            if isinstance(value, property):
                properties.append(key)
            elif isinstance(value, (FunctionType, classmethod)):
                methods.append(key)
    return {"methods": methods, "properties": properties}


autosummary_context = {"own_members": own_members}


def trim_code(app, doctree):
    """Drop the empty line that ends a doctest in Markdown."""
    from docutils import nodes

    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        if block.rawsource.rstrip() == text:
            block.rawsource = text
            block[:] = [nodes.Text(text)]


def setup(app):
    """Register what is done at build time."""
    app.connect("doctree-read", trim_code)
