"""Code in pages that is a public name becomes a link to its page."""

import inspect
import re

from docutils import nodes
from reference import members, module_of, public_names, topics
from sphinx import addnodes

CODE = re.compile(r"(?:mlcore\.)?([A-Za-z_]\w*(?:\.\w+)*)(?:\(.*\))?", re.DOTALL)


def targets():
    """Return {name as a page writes it, without "mlcore.": (kind, full name)}."""
    found = {}
    for family in topics():
        if family != "mlcore":
            found[f"mlcore.{family}"] = "mod", module_of(family).__name__
    for full, value in public_names().items():
        short = full.rpartition(".")[2]
        methods, properties = members(value) if inspect.isclass(value) else ([], [])
        for name in (short, full.removeprefix("mlcore.")):
            found[name] = "obj", full
            for member in methods + properties:
                found[f"{name}.{member}"] = "obj", f"{full}.{member}"
    return found


TARGETS = targets()
LINKED = (nodes.title, nodes.reference, addnodes.pending_xref)


def target(code):
    """Return the kind and the full name that a piece of code stands for, or None."""
    if code in TARGETS:
        return TARGETS[code]
    match = CODE.fullmatch(code)
    return TARGETS.get(match[1]) if match else None


def within(node, kinds):
    """Return the nearest node around this one that is of one of these kinds, or None."""
    while (node := node.parent) is not None:
        if isinstance(node, kinds):
            return node
    return None


def of_others(literal):
    """Return whether code stands in a column of another library's names."""
    entry = within(literal, nodes.entry)
    if entry is None:
        return False
    row = entry.parent
    heads = list(row.parent.parent.findall(nodes.thead))
    return bool(heads) and heads[0][0][row.index(entry)].astext() == "in scikit-learn"


def link_names(app, doctree):
    page = app.env.current_document.docname
    if page.startswith("reference/"):
        return  # docstrings have links of their own
    for literal in list(doctree.findall(nodes.literal)):
        found = target(literal.astext())
        if found is None or within(literal, LINKED) or of_others(literal):
            continue
        kind, name = found
        link = addnodes.pending_xref(
            "", refdomain="py", reftype=kind, reftarget=name, refdoc=page, refexplicit=True
        )
        literal.replace_self(link)
        link += literal
        literal["classes"] += ["xref", "py"]


def setup(app):
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
