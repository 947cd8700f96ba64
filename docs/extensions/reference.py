"""Pages of the API reference, from docs/topics.toml and the modules themselves.

An index by topic with a sentence for each row, a page for each family, and for the pages of classes
what their templates show: the guide, the methods, the properties.
"""

import inspect
import re
import tomllib
from functools import cached_property
from pathlib import Path

import mlcore

DOCS = Path(__file__).resolve().parents[1]
# Methods that every model has come after its own.
SHARED = re.compile(r"get_metadata_routing|[gs]et_params|set_(callbacks|output|\w+_request)")


def topics():
    """Return {family: {topic: {names: sentence}}}, beside the family's "title" and "about"."""
    return tomllib.loads((DOCS / "topics.toml").read_text(encoding="utf-8"))


def guides():
    """Return {page: settings}, of docs/guides.toml."""
    return tomllib.loads((DOCS / "guides.toml").read_text(encoding="utf-8"))


def module_of(family):
    return mlcore if family == "mlcore" else getattr(mlcore, family)


def rows(family):
    """Yield (topic, names, sentence) of each row of a family."""
    for topic, content in topics()[family].items():
        if isinstance(content, dict):
            for names, sentence in content.items():
                yield topic, [name.strip() for name in names.split(",")], sentence


def public_names():
    """Return {full name: object} of everything that can be called, families in their order."""
    return {
        f"{module_of(family).__name__}.{name}": getattr(module_of(family), name)
        for family in topics()
        for _, names, _ in rows(family)
        for name in names
    }


def guides_of(name):
    """Return the guides that mention an object, or all of its family's if none does."""
    family, _, short = name.removeprefix("mlcore.").rpartition(".")
    of_family = [page for page, guide in guides().items() if family in guide["families"]]
    word = re.compile(rf"\b{short}\b")
    texts = {page: (DOCS / f"{page}.md").read_text(encoding="utf-8") for page in of_family}
    return [page for page in of_family if word.search(texts[page])] or of_family


def members(kind):
    """Return the names of the methods and of the properties that a class documents."""
    foreign = {*dir(tuple), *dir(BaseException)}
    foreign -= set(vars(kind))
    public = [name for name in dir(kind) if name[0] != "_" and name not in foreign]
    found = {name: inspect.getattr_static(kind, name) for name in public}
    methods = [
        name
        for name, value in found.items()
        if (inspect.isroutine(value) or isinstance(value, (classmethod, staticmethod)))
        and not isinstance(value, cached_property)  # a fitted attribute
    ]
    properties = [name for name, value in found.items() if isinstance(value, property)]
    own = [name for name in methods if not SHARED.fullmatch(name)]
    return own + [name for name in methods if SHARED.fullmatch(name)], properties


def contexts():
    """Return {full name: what the templates of its page show}."""
    found = {}
    for name, value in public_names().items():
        methods, properties = members(value) if inspect.isclass(value) else ([], [])
        found[name] = {
            "guides": [f"/{page}" for page in guides_of(name)],
            "methods": methods,
            "properties": properties,
        }
    return found


def heading(text, sign):
    return [text, sign * len(text), ""]


def links(names, module):
    return ", ".join(f":py:obj:`~{module}.{name}`" for name in names)


def in_rest(text):
    """Return a sentence with its code as reST has it."""
    text = re.sub(r"`(mlcore\.\w+)`", r":py:mod:`\1`", text)
    return re.sub(r"(?<!:)`([^`]+)`", r"``\1``", text)


def index():
    """Return the lines of the page of all families."""
    lines = [
        *heading("API reference", "="),
        "Everything public, by family and topic. :doc:`/which_model` starts from your question",
        "instead, and the guides explain the methods.",
        "",
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   {family}" for family in topics() if family != "mlcore"),
        "",
    ]
    for family, content in topics().items():
        module = module_of(family).__name__
        lines += heading(content["title"], "-")
        page = "" if family == "mlcore" else f":doc:`{module} <{family}>`: "
        lines += [page + in_rest(content["about"]), ""]
        if family == "mlcore":  # its names have no other page
            lines += [
                ".. currentmodule:: mlcore",
                "",
                *table(name for _, names, _ in rows(family) for name in names),
            ]
            continue
        last = None
        for topic, names, sentence in rows(family):
            if topic != last:
                lines += [f".. rubric:: {topic}", "   :class: topic", ""]
                lines += [".. list-table::", "   :class: topics", "   :widths: 42 58", ""]
            last = topic
            lines += [f"   * - {links(names, module)}", f"     - {in_rest(sentence)}"]
            lines += [""]
    return lines


def table(names):
    """Return the lines of a table of names, each with a page of its own."""
    lines = [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    return [*lines, *(f"   {name}" for name in names), ""]


def family_page(family):
    """Return the lines of the page of a family: its topics, each a table of names."""
    module = f"mlcore.{family}"
    lines = [*heading(module, "="), f".. automodule:: {module}", "   :no-members:", ""]
    pages = [page for page, guide in guides().items() if family in guide["families"]]
    if pages:
        guide = ", ".join(f":doc:`/{page}`" for page in pages)
        lines += [f"Guide: {guide}.", ""]
    of_topic = {}
    for topic, names, _ in rows(family):
        of_topic.setdefault(topic, []).extend(names)
    for topic, names in of_topic.items():
        lines += [*heading(topic, "-"), *table(names)]
    return lines


def write_pages():
    """Write the pages, those that have changed."""
    folder = DOCS / "reference"
    folder.mkdir(exist_ok=True)
    pages = {family: family_page(family) for family in topics() if family != "mlcore"}
    for name, lines in {"index": index(), **pages}.items():
        path = folder / f"{name}.rst"
        text = "\n".join(lines)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
