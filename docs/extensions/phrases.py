"""Each page says in its head what it is about, for searches and for those who share it."""

from html import escape

from docutils import nodes

LONGEST = 200  # characters that searches show


def describe(app, page, template, context, doctree):
    title = str(context.get("title") or "")
    if doctree is None or not title:
        return
    words = first_sentences(doctree)
    tags = {"og:title": title, "og:site_name": "mlcore", "og:type": "website"}
    if words:
        tags["og:description"] = words
    given = context.get("metatags", "")
    lines = [
        f'<meta property="{name}" content="{escape(text, quote=True)}" />'
        for name, text in tags.items()
        if name not in given
    ]
    if words and 'name="description"' not in given:
        lines.append(f'<meta name="description" content="{escape(words, quote=True)}" />')
    context["metatags"] = given + "\n".join(lines)


def first_sentences(doctree):
    """Return the first paragraph that is text, as long as searches show it."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 30 and not text.startswith(("Guide:", "Go to the end")):
            break
    else:
        return ""
    if len(text) <= LONGEST:
        return text
    return text[:LONGEST].rsplit(" ", 1)[0] + " ..."


def setup(app):
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
