"""A transport plan with its marginals."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcore.checks import as_samples
from mlcore.checks.parameters import refuse
from mlcore.plot.picture import Picture, color, new_axes

_PIXELS = 4000
_MARGIN = 0.22  # height of the marginals, as a share of the plan's
_SPACE = 0.03


def transport_plan(plan: Any, *, ax: Any = None) -> Picture:
    """Draw the mass that goes from each source to each target, and what each gives and gets.

    Parameters
    ----------
    plan : array-like or sparse of shape (n_sources, n_targets)
        Not negative; at most 4,000 of each, a pixel each.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "plan" (the image), "sources" and "targets" (the outlines of the marginals, at the
        right and above).

    Raises
    ------
    TypeError, ValueError
        For a plan that is too large, negative or not finite.

    References
    ----------
    G. Peyré, M. Cuturi, *Computational optimal transport*, Foundations and Trends in Machine
    Learning 11, 2019, figure 4.2.

    Examples
    --------
    >>> from mlcore.plot import transport_plan
    >>> picture = transport_plan([[0.3, 0.2], [0.0, 0.5]])
    >>> picture.artists_["targets"].get_data().values.tolist()
    [0.3, 0.7]
    """
    if sp.issparse(plan):
        plan = plan.toarray() if max(plan.shape) <= _PIXELS else np.empty(plan.shape[:1] + (0,))
    plan = np.asarray(as_samples(plan, owner="transport_plan", name="plan"), dtype=np.float64)
    if max(plan.shape) > _PIXELS:
        refuse("plan", f"shape {plan.shape}", f"at most {_PIXELS} sources and targets")
    if plan.min() < 0:
        refuse("plan", f"the value {plan.min():.6g}", "masses of at least 0")
    figure, ax = new_axes(ax)
    n, m = plan.shape
    # Panels within the axes, so that they stay side by side wherever these are.
    share = 1 - _MARGIN
    inside = ax.inset_axes([0, 0, share - _SPACE, share - _SPACE])
    above = ax.inset_axes([0, share, share - _SPACE, _MARGIN], sharex=inside)
    beside = ax.inset_axes([share, 0, _MARGIN, share - _SPACE], sharey=inside)
    image = inside.imshow(plan, cmap="cividis", aspect="auto", vmin=0)
    style = {"fill": True, "linewidth": 0}
    targets = above.stairs(plan.sum(axis=0), np.arange(m + 1) - 0.5, color=color(0), **style)
    sources = beside.stairs(
        plan.sum(axis=1), np.arange(n + 1) - 0.5, orientation="horizontal", color=color(5), **style
    )
    inside.set(xticks=[], yticks=[])
    for panel in (above, beside):
        panel.axis("off")
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], xlabel="targets", ylabel="sources")
    ax.set_frame_on(False)
    return Picture(figure, ax, {"plan": image, "sources": sources, "targets": targets})
