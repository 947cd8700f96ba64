"""Every example of the gallery runs, and its picture shows what its text says."""

import ast
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot

from figure_faults import faults, on_the_rim
from mlcore.plot import search_scores

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "examples" / "gallery"
EXAMPLES = {path.stem: path for path in sorted(GALLERY.glob("*/*.py"))}


def the_same_share_is_misclassified(example):
    titles = [ax.get_title() for ax in example["axes"]]
    assert [title.split()[-1] for title in titles] == ["4.0%", "4.0%"]


def bounds_rise_with_what_was_chosen_from(example):
    one, best, several = (c.get_ydata() for c in example["picture"].artists_["curves"])
    assert (one < best).all() and (best < several).all()


def most_starts_are_near_and_random_ones_end_farthest(example):
    best, random = (curve.get_ydata() for curve in example["picture"].artists_["curves"])
    assert max(np.median(best), np.median(random)) < 0.5
    assert best.max() < 0.5 * random.max()


def the_bound_is_drawn(example):
    mistakes, bound = (line.get_ydata() for line in example["ax"].get_lines())
    assert mistakes[-1] == example["model"].mistakes_ < bound[0] == example["bound"]
    assert example["ax"].get_title() == f"{mistakes[-1]} mistakes, at most {bound[0]:.0f}"


def the_drift_is_found_soon_after_it_came(example):
    monitor, intervals = example["monitor"], np.array(example["intervals"])
    assert 3000 < monitor.alarm_at_ < 4000
    assert ((intervals[:, 0] < example["rates"]) & (example["rates"] < intervals[:, 1])).all()


def shares_are_one_delta(example):
    parts = [statement.delta for statement in example["found"].statements]
    assert 0.05 * (1 - 1e-12) < sum(parts) <= 0.05
    assert abs(parts[0] - 3 * parts[1]) < 1e-12
    assert example["lengths"].max() < 0.15


def the_region_to_ask_is_named(example):
    (region,) = example["picture"].artists_["empty_regions"]
    assert region.get_label() == "ask" and 0 < example["asked"] < 30


def pixels_are_probabilities(example):
    assert all(np.ptp(ax.get_images()[0].get_array()) > 0.9 for ax in example["axes"].ravel())


def intervals_reach_the_bound(example):
    _, bound, intervals = (line.get_ydata() for line in example["ax"].get_lines())
    assert (bound == intervals).all() and example["d"] == 2


def the_sequence_is_wider(example):
    upper, lower, upper_of_one, lower_of_one, _ = example["ax"].get_lines()
    assert (upper.get_ydata() > upper_of_one.get_ydata()).all()
    assert (lower.get_ydata() <= lower_of_one.get_ydata()).all()


def no_step_falls_and_ends_differ(example):
    traces = [line.get_ydata() for line in example["ax"].get_lines()]
    assert all(np.diff(trace).min() > -1e-12 for trace in traces)
    assert np.ptp([trace[-1] for trace in traces]) > 0.1


def regret_stays_below_its_bound(example):
    assert example["regret"].max() < example["game"].bound


def the_error_no_longer_changes(example):
    assert len(set(example["errors"][1:])) == 1 and np.all(np.diff(example["gaps"]) < 0)


def one_component_separates(example):
    first, inner = example["model"].transform(example["X"])[:, 0], example["inner"] == 1
    assert first[inner].max() < first[~inner].min() or first[inner].min() > first[~inner].max()


def a_smaller_penalty_keeps_more_pixels(example):
    used = [int(line.split()[1]) for line in example["printed"].splitlines()]
    assert used == sorted(used) and 0 < used[0] < 50


def more_pixels_have_coefficients_as_the_penalty_falls(example):
    path, label = example["path"], example["picture"].artists_["chosen"].get_label()
    assert path.n_nonzero[0] == 0 < path.n_nonzero[-1]
    place = int(np.argmin(np.abs(path.Cs - example["search"].C_)))
    assert f"{path.n_nonzero[place]} of 64 not 0" in label
    assert example["right"] > 0.9


def hollow_marks_hold_0(example):
    artists, ends = example["picture"].artists_, example["inference"].confidence_interval()[:4]
    holds = (ends[:, 0] <= 0) & (0 <= ends[:, 1])
    assert list(artists["perhaps"].get_ydata()) == list(np.flatnonzero(holds)) and holds.any()


# What the texts say, beyond what is asked of all pictures.
CLAIMS = {
    "advice_of_experts": regret_stays_below_its_bound,
    "binary_digits": pixels_are_probabilities,
    "chosen_penalty": more_pixels_have_coefficients_as_the_penalty_falls,
    "circles": one_component_separates,
    "em_never_falls": no_step_falls_and_ends_differ,
    "how_many_examples": bounds_rise_with_what_was_chosen_from,
    "how_sure_of_a_coefficient": hollow_marks_hold_0,
    "labelings_of_intervals": intervals_reach_the_bound,
    "drift_found": the_drift_is_found_soon_after_it_came,
    "look_when_you_like": the_sequence_is_wider,
    "mistakes_and_their_bound": the_bound_is_drawn,
    "nearness_to_the_optimum": the_error_no_longer_changes,
    "one_report": shares_are_one_delta,
    "right_to_ask": the_region_to_ask_is_named,
    "starts": most_starts_are_near_and_random_ones_end_farthest,
    "two_discriminants": the_same_share_is_misclassified,
    "which_pixels_matter": a_smaller_penalty_keeps_more_pixels,
}


def test_names_of_examples_differ_and_all_claims_have_one():
    assert len(EXAMPLES) == len(list(GALLERY.glob("*/*.py"))) > 40
    assert set(CLAIMS) <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_shows_what_it_says(name, capsys):
    example = runpy.run_path(EXAMPLES[name])
    printed = capsys.readouterr().out
    assert no_addresses(printed)
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert len(figures) == 1
    assert faults(figures[0]) == []
    for value in example.values():
        if hasattr(value, "cv_results_") or hasattr(value, "criterion_values_"):
            drawn = example.get("picture")
            has_scores = drawn is not None and "scores" in drawn.artists_
            assert not on_the_rim(drawn if has_scores else search_scores(value))
    if name in CLAIMS:
        CLAIMS[name]({**example, "printed": printed})


def no_addresses(printed):
    return not re.search(r" object at 0x", printed)


def test_a_page_prints_only_what_its_example_prints():
    """Sphinx-gallery would show what the last call returns: an address of an object."""
    settings = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    (gallery,) = (
        ast.literal_eval(node.value)
        for node in settings.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "sphinx_gallery_conf"
    )
    assert gallery["capture_repr"] == ()
    assert no_addresses("mean 3.5") and not no_addresses(repr(object()))


# ---- the checks find what they look for


def empty_axes():
    figure, axes = pyplot.subplots(1, 2)
    axes[0].plot([0, 1])
    axes[1].imshow(np.zeros((8, 8)), vmin=0, vmax=1)
    return figure


def axes_with_words_only():
    figure, ax = pyplot.subplots()
    ax.plot([], label="nothing")
    ax.legend()
    ax.text(0.2, 0.2, "nothing", transform=ax.transAxes)
    return figure


def a_label_that_is_cut():
    figure, ax = pyplot.subplots(figsize=(2, 2))
    ax.plot([0, 1])
    ax.set(xticks=[], yticks=[])
    ax.set_yticks([1], ["a name that is too long"])
    return figure


def ticks_that_overlap():
    figure, ax = pyplot.subplots(layout="constrained")
    ax.plot([0, 1])
    ax.set_xticks([0.5, 0.51], ["one tick", "another"])
    return figure


def a_legend_on_a_name():
    figure, ax = pyplot.subplots(layout="constrained")
    ax.plot([0, 1], label="curve")
    ax.legend(loc="center")
    ax.text(0.5, 0.5, "name", ha="center", va="center")
    return figure


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (empty_axes, ["axes 1 are empty"]),
        (axes_with_words_only, ["axes 0 are empty"]),
        (a_label_that_is_cut, ["'a name that is too long' leaves the figure"]),
        (ticks_that_overlap, ["'one tick' lies on 'another'"]),
        (a_legend_on_a_name, ["'name' lies on 'curve'"]),
    ],
)
def test_bad_figures_are_found(bad, expected):
    assert faults(bad()) == expected


@pytest.mark.parametrize(
    ("scores", "rim"),
    [
        ([[1, 1, 1], [1, 2, 1], [1, 1, 1]], False),
        ([[1, 1, 1], [1, 1, 2], [1, 1, 1]], True),
        ([[1, 1, 1], [1, 1, 1], [1, 2, 1]], True),
        ([[1, 2, 1], [1, 1, 1]], True),
        ([[1, 2, 1]], False),
        ([[1, 1, 2]], True),
    ],
)
def test_the_best_on_the_rim_of_a_grid_is_found(scores, rim):
    gammas, Cs = np.indices(np.shape(scores)) + 1.0
    values = {"param_gamma": gammas, "param_C": Cs, "mean_test_score": np.array(scores)}
    results = {name: value.ravel() for name, value in values.items()}
    search = SimpleNamespace(cv_results_={**results, "std_test_score": 0 * results["param_C"]})
    assert on_the_rim(search_scores(search)) == rim
