"""Pages of docs/guides.toml get a picture of the gallery, and examples at their end."""

import contextlib
import io
import re

import matplotlib
from reference import DOCS, guides

PICTURE = """```{{figure}} {root}gallery/{folder}/images/sphx_glr_{name}_001.png
:alt: {alt}
:target: {root}gallery/{folder}/{name}.html
:figclass: from-gallery
```"""
EXAMPLES = """
## Examples

```{{eval-rst}}
.. minigallery:: {paths}
```
"""


def with_pictures(text, page, settings):
    """Return the text of a page with its picture under the title, and examples at the end."""
    if "picture" in settings:
        folder, name = settings["picture"].split("/")
        picture = PICTURE.format(
            root="../" * page.count("/"), folder=folder, name=name, alt=settings["alt"]
        )
        title, rest = text.split("\n\n", 1)
        text = "\n\n".join([title, picture, rest])
    paths = [f"../examples/gallery/{example}.py" for example in settings.get("examples", ())]
    return text + EXAMPLES.format(paths=" ".join(paths)) if paths else text


def draw_start(app):
    """Run the code of the first steps, and keep the picture that it makes."""
    matplotlib.use("agg")
    text = (DOCS / "start.md").read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, names)
        if "picture" in names:
            break
    (DOCS / "gallery").mkdir(exist_ok=True)
    names["picture"].figure_.savefig(DOCS / "gallery" / "start.png", dpi=100, bbox_inches="tight")


def add_pictures(app, page, source):
    if page in guides():
        source[0] = with_pictures(source[0], page, guides()[page])


def setup(app):
    app.connect("builder-inited", draw_start, priority=900)  # after the gallery
    app.connect("source-read", add_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
