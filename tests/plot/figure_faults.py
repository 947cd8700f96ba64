"""Faults that a reader of a figure sees: empty axes, texts that are cut or lie on each other."""

import itertools
from unittest import mock

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

FRAME = 4  # pixels along the edge of axes, which are not looked at
SLACK = 1.5  # pixels that boxes of texts, which are larger than the letters, may share


def faults(figure):
    """Return a sentence for each fault of a figure as it is saved."""
    canvas, texts = FigureCanvasAgg(figure), []
    draw = Text.draw

    def noted(text, renderer):
        if text.get_visible() and text.get_text().strip():
            texts.append(text)
        draw(text, renderer)

    with mock.patch.object(Text, "draw", noted):
        canvas.draw()
    boxes = {text: text.get_window_extent() for text in texts}
    pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3].astype(float)
    shown = np.ones(pixels.shape[:2], dtype=bool)
    legends = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
    for box in [*boxes.values(), *(legend.get_window_extent() for legend in legends)]:
        shown[inside(box, -2)] = False
    found = []
    for number, ax in enumerate(figure.axes):
        where = inside(ax.get_window_extent(), FRAME)
        content = pixels[where][shown[where]]
        if ax.get_visible() and (not len(content) or content.std(axis=0).max() < 0.5):
            found.append(f"axes {number} are empty")
    for text, box in boxes.items():
        edges = (-box.x0, -box.y0, box.x1 - figure.bbox.x1, box.y1 - figure.bbox.y1)
        if max(edges) > SLACK:
            found.append(f"{text.get_text()!r} leaves the figure")
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        if min(across, along) > SLACK:
            found.append(f"{one.get_text()!r} lies on {other.get_text()!r}")
    return found


def inside(box, inset):
    """Return the pixels of a box less an edge, as rows from below and columns."""
    low, high = np.floor(box.min) + inset, np.ceil(box.max) - inset
    (x0, y0), (x1, y1) = np.maximum(low, 0).astype(int), np.maximum(high, 0).astype(int)
    return slice(y0, y1), slice(x0, x1)


def on_the_rim(picture):
    """Return whether the best of a search has the least or largest value of a parameter.

    Then a better one may lie outside of what was tried.
    """
    artists = picture.artists_
    if hasattr(artists["scores"], "lines"):
        places = artists["scores"].lines[0].get_xdata()
        return artists["best"].get_xdata()[0] in (places.min(), places.max())
    sizes = np.array(artists["scores"].get_array().shape)[::-1]
    best = artists["best"].get_xydata()[0]
    return bool(((best == 0) | (best == sizes - 1)).any())
