"""Settings of the site, which `tools/site` builds; see Sphinx's "Configuration"."""

import importlib.util
import inspect
import re
import sys
import zlib
from pathlib import Path

from docutils import nodes
from sphinx.util.fileutil import copy_asset

import mlcore

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "extensions"))

import reference  # noqa: E402, of this folder

project = "mlcore"
author = "mlcore developers"
project_copyright = "mlcore developers"
version = release = mlcore.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx.ext.mathjax",
    "members",  # these four are in this folder
    "names",
    "pictures",
    "phrases",
]
# Pages of execution times ask three servers for their scripts.
exclude_patterns = [
    "templates",
    "inventories",
    "extensions",
    "**/sg_execution_times*",
    "sg_execution_times*",
]
templates_path = ["templates"]
default_role = "autolink"
nitpicky = False  # types in docstrings are words, not links

# ---- pages in Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3

myst_substitutions = {"version": version}

# ---- reference, from the docstrings and topics.toml
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # docstrings give them, with shapes
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
numpydoc_validation_checks = (
    {"PR01", "PR02", "PR03", "PR04", "PR10", "RT01", "RT03"}
    | {f"GL{number:02}" for number in (1, 2, 3, 5, 6, 7, 8, 9, 10)}
    | {f"SS{number:02}" for number in range(1, 7)}
)
numpydoc_validation_exclude = {
    r"^mlcore(\.\w+)?$",  # families: their pages are lists
    r"\.RowSums$",  # an interface, which nobody calls
}


reference.write_pages()
autosummary_context = {"pages": reference.contexts()}

# ---- other projects, from lists in this folder: no network is needed
PROJECTS = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
    "matplotlib": "https://matplotlib.org/stable/",
}


def inventory(name):
    """Write a list of names as an inventory of version 2, and return its path."""
    lines = (DOCS / "inventories" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    head = f"# Sphinx inventory version 2\n# Project: {name}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    body = "".join(f"{role[0]} py:{role[1]} 1 {role[2]} -\n" for role in map(str.split, lines))
    path = DOCS / "inventories" / f"{name}.inv"
    path.write_bytes(head.encode() + zlib.compress(body.encode()))
    return str(path)


intersphinx_mapping = {name: (address, inventory(name)) for name, address in PROJECTS.items()}


# ---- gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("mlcore",),
    "reference_url": {"mlcore": None},
    "only_warn_on_example_error": True,  # a warning stops the build, after all others are said
    "download_all_examples": False,
    "capture_repr": (),  # print what examples print, not the objects that calls return
    "show_memory": False,
    "min_reported_time": 10,
    "parallel": True,
}
suppress_warnings = ["config.cache"]  # of the gallery's own settings

# ---- timings of all versions, where `asv publish` has made their pages
TIMINGS = DOCS.parent / "asv_benchmarks" / "html"
if TIMINGS.exists():
    html_extra_path = [str(TIMINGS)]
    tags.add("timings")  # noqa: F821, a name that Sphinx gives this file

# ---- looks
html_theme = "pydata_sphinx_theme"
html_title = "mlcore"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["site.css"]
# Deferred scripts run after those of the theme, and before a search begins.
html_js_files = [(name, {"defer": "defer"}) for name in ("pages.js", "whole_words.js")]
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": "mlcore",
        "alt_text": "mlcore, to the first page",
    },
    "show_prev_next": False,
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages that are a section by themselves have nothing to show there.
html_sidebars = {
    page: []
    for page in (
        "changes",
        "coming_from_scikit_learn",
        "how_it_works",
        "index",
        "start",
        "which_model",
    )
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ---- docstrings are for help() first: in reST some of their signs mean something else
CODE = re.compile(r"(``.*?``|:\w+:`[^`]*`|`[^`]*`)", re.DOTALL)


def escape_signs(app, what, name, obj, options, lines):
    """Escape the bars of ``|w|`` and the underscores of fitted attributes outside of code."""
    paragraphs, formula = [], False
    for paragraph in "\n".join(lines).split("\n\n"):
        start = paragraph.strip()
        indented = paragraph.startswith(" ")
        if not start.startswith((".. ", ">>>")) and not (formula and indented):
            parts = CODE.split(paragraph)  # text, code, text, ...
            parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", part) for part in parts[::2]]
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            paragraph = "".join(parts)
        formula = start.startswith(".. math::") or start.endswith("::")
        paragraphs.append(paragraph)
    lines[:] = "\n\n".join(paragraphs).split("\n")


# ---- formulas without network: MathJax and its fonts, from a package
mathjax_path = "mathjax/tex-chtml.js"
MATHJAX = ("tex-chtml.js", "output/chtml", "a11y", "sre")  # what pages load; the package has more


def copy_mathjax(app, error):
    (folder,) = importlib.util.find_spec("sphinx-mathjax-offline").submodule_search_locations
    source = Path(folder) / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    if error is None:
        for name in MATHJAX:
            copy_asset(source / name, target / (Path(name) if (source / name).is_dir() else ""))


def class_signature(app, what, name, obj, options, signature, returns):
    """Return the signature of ``__init__``, where autodoc takes that of ``Model.__new__``."""
    if what != "class" or not hasattr(obj, "get_params"):
        return None
    parameters = inspect.signature(obj).parameters.values()
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(bare)), ""


def name_images(app, doctree, page):
    """Give thumbnails the name of their example as a text for readers who do not see them."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt"):
            stem = Path(image["uri"]).stem.removeprefix("sphx_glr_").removesuffix("_thumb")
            image["alt"] = f"Example: {stem.replace('_', ' ')}"


def setup(app):
    app.connect("doctree-resolved", name_images)
    app.connect("autodoc-process-docstring", escape_signs, priority=900)  # after numpydoc
    app.connect("autodoc-process-signature", class_signature)
    app.connect("build-finished", copy_mathjax)
