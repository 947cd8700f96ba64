"""Bounds as pictures: curves against the sample size, promises of certificates, and reports."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlcore.checks.parameters import refuse
from mlcore.plot.picture import GREY, MARKERS, Picture, color, new_axes


def bound_curves(
    bounds: Mapping[str, Callable[..., Any] | Any],
    sizes: Any,
    *,
    observed: Any = None,
    ax: Any = None,
) -> Picture:
    """Draw bounds against the number of examples; from 1 up they say nothing and are shaded.

    Parameters
    ----------
    bounds : dict of str to function or array
        By name, the bound at a number of examples: a function of it, or the values at all `sizes`.
    sizes : array-like of shape (n_sizes,)
        Numbers of examples, positive.
    observed : float or array-like of shape (n_sizes,), optional
        Error observed on the examples, a dotted line.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "curves", "vacuous" and, if given, "observed".

    Raises
    ------
    ValueError
        For sizes that are not positive, or values of another number.

    Examples
    --------
    >>> from mlcore.bounds import finite_class_epsilon, hoeffding_epsilon
    >>> from mlcore.plot import bound_curves
    >>> curves = {"one function": lambda m: hoeffding_epsilon(m, 0.05),
    ...           "the best of 1,000": lambda m: finite_class_epsilon(1_000, m, 0.05)}
    >>> len(bound_curves(curves, [100, 1_000, 10_000]).artists_["curves"])
    2
    """
    sizes = np.asarray(sizes)
    if sizes.ndim != 1 or not len(sizes) or not (sizes > 0).all():
        refuse("sizes", sizes, "positive numbers of examples")
    if not isinstance(bounds, Mapping) or not bounds:
        refuse("bounds", bounds, "a dict of at least one function or array by its name")
    # Values of all curves.
    table = {}
    for name, bound in bounds.items():
        values = [bound(size) for size in sizes.tolist()] if callable(bound) else bound
        table[name] = np.asarray(values, dtype=np.float64)
        if table[name].shape != sizes.shape:
            refuse("bounds", f"{name!r} of shape {table[name].shape}", f"shape {sizes.shape}")
    figure, ax = new_axes(ax)
    curves = [
        ax.plot(
            sizes,
            values,
            color=color(number),
            marker=MARKERS[number % len(MARKERS)],
            markersize=3.5,
            linestyle=("-", "--", "-.", ":")[number // len(MARKERS) % 4],
            label=name,
        )[0]
        for number, (name, values) in enumerate(table.items())
    ]
    artists: dict[str, Any] = {"curves": curves}
    if observed is not None:
        values = np.broadcast_to(np.asarray(observed, dtype=np.float64), sizes.shape)
        (artists["observed"],) = ax.plot(sizes, values, ":", color=GREY, label="observed")
    ax.set(xscale="log", yscale="log", xlabel="examples", ylabel="error, at most")
    top = max(float(np.nanmax(values[np.isfinite(values)], initial=1)) for values in table.values())
    artists["vacuous"] = ax.axhspan(1, max(1.5 * top, 2), color=GREY, alpha=0.2, linewidth=0)
    ax.legend(fontsize="small")
    return Picture(figure, ax, artists)


def certificate_bounds(certificate: Any, *, ax: Any = None) -> Picture:
    """Draw what a certificate promises: every bound that applies, the smallest on top.

    Parameters
    ----------
    certificate : Certificate
        Of `mlcore.bounds.certify`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "bars" (from fresh examples full, from training examples hatched), "observed", and
        of fresh examples "interval".

    Raises
    ------
    ValueError
        If it has no bounds.

    Examples
    --------
    >>> from mlcore.bounds import certify
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.plot import certificate_bounds
    >>> from mlcore.svm import SVC
    >>> X, y = load_iris()
    >>> machine = SVC().fit(X[::2], y[::2])
    >>> picture = certificate_bounds(certify(machine, X[1::2], y[1::2]))
    >>> picture.ax_.get_xlabel()
    'error rate, at most'
    """
    bounds = getattr(certificate, "bounds", ())
    if not bounds:
        refuse("certificate", certificate, "a Certificate with at least one bound")
    figure, ax = new_axes(ax, size=(6.5, 1.5 + 0.35 * len(bounds)))
    # A bar for each bound, hatched if it is of training examples.
    places = np.arange(len(bounds))
    low, high = certificate.inputs.get("value_range", (0.0, 1.0))
    lengths = [min(float(bound), high) - low for bound in bounds]
    bars = ax.barh(places, lengths, left=low, color=color(0), height=0.6)
    right = high - low if max(lengths) > 0.5 * (high - low) else 1.3 * max(lengths)
    for bar, bound in zip(bars, bounds, strict=True):
        if bound.sample != "test":
            bar.set(facecolor="white", edgecolor=color(0), hatch="///")
        says = " says nothing" if bound.vacuous else f" {float(bound):.3f}"
        inside = bar.get_width() > 0.75 * (high - low)
        ax.text(
            low + bar.get_width() - 0.01 * right * bool(inside),
            bar.get_y() + 0.5 * bar.get_height(),
            says + " " * bool(inside),
            ha="right" if inside else "left",
            va="center",
            fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1} if inside else None,
        )
    # The observed rate, and the interval of the true one.
    artists: dict[str, Any] = {"bars": bars}
    inputs = certificate.inputs
    if "k" in inputs:
        rate = inputs["k"] / inputs["m"]
        text = f"observed: {inputs['k']} of {inputs['m']}"
    else:
        rate, text = inputs["mean_loss"], f"observed: {inputs['mean_loss']:.3g}"
    artists["observed"] = ax.axvline(rate, color=color(5), linestyle=":", label=text)
    if certificate.interval is not None:
        ends = [float(bound) for bound in certificate.interval]
        text = f"{1 - certificate.delta:.0%} confidence interval"
        artists["interval"] = ax.axvspan(*ends, color=color(1), alpha=0.3, zorder=0, label=text)
    ax.set_yticks(places, [bound.name for bound in bounds])
    what = "error rate" if "k" in inputs else "expected loss"
    ax.set(xlim=(low, low + right), xlabel=f"{what}, at most")
    ax.set_ylim(len(bounds) - 0.5, -0.5 if len(artists) == 1 else -1.5)
    if len(artists) > 1:  # above the bars
        ax.legend(fontsize="small", loc="upper right", ncols=len(artists) - 1)
    return Picture(figure, ax, artists)


def report_intervals(report: Any, *, ax: Any = None) -> Picture:
    """Draw the statements of a report, which hold together, as intervals from 0 to 1.

    Parameters
    ----------
    report : Report
        Of `mlcore.bounds.report`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "intervals", a line for each statement, and "observed", the points of those with a
        value on the examples. Statements on numbers outside [0, 1] have their ends in words alone.

    Raises
    ------
    ValueError
        If it is no report.

    Examples
    --------
    >>> from mlcore.bounds import classification_statements, report
    >>> from mlcore.plot import report_intervals
    >>> found = report(classification_statements([0, 1] * 50, [0, 1] * 45 + [1, 0] * 5))
    >>> len(report_intervals(found).artists_["intervals"])
    4
    """
    statements = getattr(report, "statements", ())
    if not statements:
        refuse("report", report, "a Report with at least one statement")
    figure, ax = new_axes(ax, size=(6.5, 1.2 + 0.35 * len(statements)))
    places = np.arange(len(statements))
    intervals = []
    for place, statement in zip(places, statements, strict=True):
        lower, upper = statement.lower, statement.upper
        inside = 0 <= lower and upper <= 1
        ends = (lower, upper) if inside else (np.nan, np.nan)
        intervals += ax.plot(ends, [place] * 2, color=color(0), linewidth=5, solid_capstyle="butt")
    known = [
        (s.estimate, place)
        for place, s in zip(places, statements, strict=True)
        if s.estimate is not None and 0 <= s.lower and s.upper <= 1
    ]
    (observed,) = ax.plot(
        *np.reshape(known, (-1, 2)).T, "o", color="white", markeredgecolor="black", markersize=6
    )
    ax.set_yticks(places, [str(statement) for statement in statements])
    held = f"all hold with probability at least {1 - report.delta:.6g}"
    ax.set(xlim=(-0.01, 1.01), xlabel=held)
    ax.set_ylim(len(statements) - 0.5, -0.5)
    return Picture(figure, ax, {"intervals": intervals, "observed": observed})
