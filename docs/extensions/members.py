"""Pages of classes show the first paragraph of each method; the rest opens on request."""

import re

from docutils import nodes
from sphinx import addnodes

OPEN, CLOSE = '<details class="member"><summary>Details</summary>', "</details>"


def skip_member(app, what, name, obj, skip, options):
    """Leave out fields of named tuples, and setters of requests that a class does not have."""
    if type(obj).__name__ == "_tuplegetter":
        return True  # its parameters describe it
    if re.fullmatch(r"set_\w+_request", name) and not callable(obj):
        return True
    return None


def fold_members(app, doctree, page):
    """Wrap what follows the first paragraph of each method."""
    for member in doctree.findall(addnodes.desc):
        if member["objtype"] not in ("method", "property") or not in_class(member):
            continue
        content = member[-1]
        if len(content) > 1:
            rest = content[1:]
            content[1:] = []
            content += [raw(OPEN), *rest, raw(CLOSE)]


def in_class(node):
    """Return whether a description lies within another one, that of its class."""
    while (node := node.parent) is not None:
        if isinstance(node, addnodes.desc):
            return True
    return False


def raw(text):
    return nodes.raw("", text, format="html")


def setup(app):
    app.connect("autodoc-skip-member", skip_member)
    app.connect("doctree-resolved", fold_members)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
