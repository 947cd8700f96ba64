"""Every family of bounds against the sample size, for one and the same observed error rate.

python examples/bound_against_sample_size.py              prints a table
python examples/bound_against_sample_size.py FILE.svg     draws it as well, with matplotlib
"""

import math
import sys
from collections.abc import Callable

from mlcore.bounds import (
    bernoulli_confidence_sequence,
    binomial_tail_inversion,
    hoeffding_epsilon,
    kl_inverse_upper,
    occam_bound,
    pac_bayes_kl_bound,
    rademacher_margin_bound,
    sample_compression_bound,
    vc_error_bound,
)

RATE, DELTA = 0.03, 0.05
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
# Of k errors (or margin errors) among m examples.
FAMILIES: dict[str, Callable[[int, int], float]] = {
    "test: binomial": lambda k, m: binomial_tail_inversion(k, m, DELTA),
    "test: kl (Chernoff)": lambda k, m: kl_inverse_upper(k / m, -math.log(DELTA) / m),
    "test: Hoeffding": lambda k, m: k / m + hoeffding_epsilon(m, DELTA, two_sided=False),
    "test, best of 20: binomial": lambda k, m: binomial_tail_inversion(k, m, DELTA / 20),
    "stream, at all times": lambda k, m: bernoulli_confidence_sequence(k, m, DELTA)[1],
    "train: Occam, 100 bits": lambda k, m: occam_bound(k, m, DELTA, log_prior=-100 * math.log(2)),
    "train: compression to 20": lambda k, m: sample_compression_bound(20, m, DELTA, k=k),
    "train: PAC-Bayes, KL = 10": lambda k, m: pac_bayes_kl_bound(k / m, 10.0, m, DELTA),
    "train: VC, d = 10": lambda k, m: vc_error_bound(k, m, 10, DELTA),
    "train: margin 0.2": lambda k, m: rademacher_margin_bound(k / m, m, DELTA, radius=1.0, rho=0.2),
}


def bounds_of_all_families() -> dict[str, list[float]]:
    """For every family the bounds at `SIZES`, at most 1."""
    return {
        name: [min(1.0, bound(round(RATE * m), m)) for m in SIZES]
        for name, bound in FAMILIES.items()
    }


def draw(table: dict[str, list[float]], path: str) -> None:
    """One line a family; the style tells what the examples were used for."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "bounds"  # the same picture, the same file
    styles = {"test": "-", "stream": ":", "train": "--"}
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for name, values in table.items():
        axes.plot(SIZES, values, styles[name.split(":")[0].split(",")[0]], label=name)
    axes.axhline(RATE, color="grey", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="examples", ylabel="bound on the true error")
    axes.set_title(f"Observed error rate {RATE:.0%}, confidence {1 - DELTA:.0%}")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if ".svg" in path else None)


def main() -> None:
    table = bounds_of_all_families()
    shown = SIZES[::2]
    print(f"{'examples':28}" + "".join(f"{m:>11,}" for m in shown))
    for name, values in table.items():
        print(f"{name:28}" + "".join(f"{value:11.4f}" for value in values[::2]))
    if len(sys.argv) > 1:
        draw(table, sys.argv[1])


if __name__ == "__main__":
    main()
