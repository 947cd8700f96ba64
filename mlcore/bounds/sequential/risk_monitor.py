"""Monitor of an error rate or mean loss: alarms and intervals that are valid at every look."""

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from mlcore._ext.bounds import risk_monitor as loops
from mlcore.bounds.arguments import as_choice, as_positive, as_real, as_reals, is_single, refuse
from mlcore.bounds.calculator import warn_of_confidence
from mlcore.bounds.certificates.report import for_terminal, to_safe_side
from mlcore.bounds.held_out import binomial_tail_inversion, hoeffding_bentkus_bound
from mlcore.bounds.sequential.running_mean import running_mean_interval
from mlcore.checks.arrays import require_unmasked
from mlcore.checks.errors import warn
from mlcore.estimator.printed import fields_as_table

_LEAST = 2.0**-500  # of delta and of levels: capital stays below 2**1002
_BETS = 16
_BLOCK = 2**20  # losses between looks for Ctrl-C
_ROUNDED = 1 - 2.0**-48  # of payoffs: their roundings cannot add to the capital


class RiskMonitor:
    r"""Watch losses over time, and raise an alarm if their rate exceeds a level.

    The level is promised, or the rate of a reference period. At every loss sixteen bets gain if the
    rate is above the level :math:`m`: their payoff, for alternatives q between m and 1, is
    :math:`x q / m + (1 - x) (1 - q) / (1 - m)`, whose expectation is at most 1 if the rate is at
    most m. New bets start at every loss, so that a late change is found soon. The capital is 1 at
    the start, and reaches :math:`1 / \delta`, the alarm, with probability at most :math:`\delta` if
    no rate ever exceeds the level (Ville's inequality), however often one looks. The *rate* is the
    conditional expectation of a loss given those before: losses may depend on each other, and their
    distribution may change.

    Parameters
    ----------
    level : float, optional
        Promised error rate or mean loss, between 0 and `value_range`. Either this or `reference`.
    reference : array-like of shape (n,), optional
        Losses of the reference period, independent and of one rate. Its upper bound at half of
        `delta` is the level, and the alarm has the other half: `binomial_tail_inversion` for
        booleans and integers, `hoeffding_bentkus_bound` for others.
    delta : float in (0, 1), default=0.05
        Probability of a false alarm, and, by itself, that `interval` ever fails; at least 2**-500.
    value_range : float above 0, default=1.0
        Largest loss that is possible, known beforehand; 1.0 for errors, which are 0 or 1.

    Attributes
    ----------
    level_ : float
        Level that the alarm is about, in units of the losses.
    n_seen_ : int
        Number of losses so far.
    alarm_at_ : int or None
        Number of losses after which the alarm was first raised, for good.

    Raises
    ------
    ValueError
        For arguments out of range.

    Warns
    -----
    UserWarning
        If the reference period is so short that no loss can exceed its bound.

    See Also
    --------
    watch : Let a monitor see a stream until it has a proof.
    bernoulli_confidence_sequence : An interval of one unchanging error rate.

    Notes
    -----
    An update takes 13 ns a loss and O(1) memory, an interval a millisecond. Two models on the same
    stream are compared by ``RiskMonitor(0.5).update((1 + new - old) / 2)``, whose alarm proves
    that the new one has had the larger rate.

    References
    ----------
    A. Podkopaev, A. Ramdas, *Tracking the risk of a deployed model and detecting harmful
    distribution shifts*, International Conference on Learning Representations, 2022.
    I. Waudby-Smith, A. Ramdas, *Estimating means of bounded random variables by betting*, Journal
    of the Royal Statistical Society B 86, 2024 (the bets).
    J. Shin, A. Ramdas, A. Rinaldo, *E-detectors: a nonparametric framework for sequential change
    detection*, New England Journal of Statistics in Data Science 2, 2023 (many starts).

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.bounds import RiskMonitor
    >>> monitor = RiskMonitor(0.1, delta=0.01)
    >>> errors = np.arange(2000) % 20 == 0  # one in twenty ...
    >>> monitor.update(errors).alarm
    False
    >>> monitor.update([1, 0, 0] * 100).alarm_at_  # ... then one in three
    2079
    """

    level_: float
    n_seen_: int
    alarm_at_: int | None

    def __init__(
        self,
        level: float | None = None,
        *,
        reference: Any = None,
        delta: float = 0.05,
        value_range: float = 1.0,
    ) -> None:
        self.value_range = as_positive(value_range, "value_range")
        self.delta = as_real(delta, "delta", at_least=_LEAST, below=1)
        warn_of_confidence(self.delta)
        if (level is None) == (reference is None):
            refuse("level", level, "a number without a reference, and None with one")
        self.level, self.n_reference = level, 0
        if level is not None:
            level = as_real(level, "level", above=0, below=self.value_range)
            rate = level / self.value_range
            if not _LEAST <= rate < 1:
                refuse("level", level, f"between 2**-500 and 1 times value_range={value_range!r}")
            self.level_ = level
            self._threshold = 1 / self.delta
        else:
            rate, self.n_reference = self._bound_of(reference)
            self.level_ = rate * self.value_range
            self._threshold = 2 / self.delta
        self._threshold *= 1 + 2.0**-48
        self._down, self._slope = _payoffs(rate)
        self.reset()

    def reset(self) -> Self:
        """Forget all losses and the alarm; the level stays.

        Returns
        -------
        self : RiskMonitor
            The monitor.
        """
        self._capital = np.zeros(_BETS)
        self._sums = np.array([0.0, 0.0, 0.0, 1.0])
        self.n_seen_, self.alarm_at_ = 0, None
        return self

    def update(self, losses: Any) -> Self:
        """See one or more losses, in the order in which they came.

        Parameters
        ----------
        losses : number, bool, or array-like of shape (n,)
            From 0 to `value_range`. Pieces give the same bytes as all at once.

        Returns
        -------
        self : RiskMonitor
            The monitor.

        Raises
        ------
        ValueError
            For losses out of range; the monitor is then as before.
        """
        losses, _ = _as_losses(losses, "losses", self.value_range)
        # Ctrl-C between blocks leaves the monitor as before, too.
        capital, sums, seen = self._capital.copy(), self._sums.copy(), self.n_seen_
        alarm = self.alarm_at_ or 0
        for start in range(0, len(losses), _BLOCK):
            block = losses[start : start + _BLOCK]
            alarm = loops.bet(
                block, self.value_range, self._down, self._slope, capital, sums, seen, alarm,
                self._threshold,
            )  # fmt: skip
            seen += len(block)
        self._capital, self._sums, self.n_seen_ = capital, sums, seen
        self.alarm_at_ = alarm or None
        return self

    @property
    def alarm(self) -> bool:
        """True once the rate is proved to have exceeded the level."""
        return self.alarm_at_ is not None

    @property
    def mean(self) -> float:
        """Mean of the losses so far; NaN before the first."""
        total = (self._sums[0] + self._sums[1]) / max(self.n_seen_, 1)
        return float(total) * self.value_range if self.n_seen_ else math.nan

    @property
    def evidence(self) -> float:
        """Greatest capital so far, 1 at the start; its inverse is a p-value, valid at every look.

        With a reference it is the evidence against the bound of the reference period.
        """
        return float(self._sums[3])

    def interval(self) -> tuple[float, float]:
        r"""Interval for the mean of the rates of all losses so far, whether or not they change.

        It holds at all looks at once with probability at least :math:`1 - \delta`. Its width
        adapts to the variance of the losses.

        Returns
        -------
        lower, upper : float
            In units of the losses; 0 and `value_range` before the first loss.

        References
        ----------
        S. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, *Time-uniform, nonparametric, nonasymptotic
        confidence sequences*, Annals of Statistics 49, 2021, Theorem 4.
        """
        if not self.n_seen_:
            return 0.0, self.value_range
        total, lost, squares, _ = self._sums.tolist()
        rest = (self.n_seen_ - total) - lost
        lower, upper = running_mean_interval(
            max(total + lost, 0.0), max(rest, 0.0), squares, self.n_seen_, self.delta
        )
        scale = self.value_range
        if scale == 1:
            return lower, upper
        return lower * scale * (1 - 2.0**-52), min(upper * scale * (1 + 2.0**-52), scale)

    def _bound_of(self, reference):
        """Return the upper bound on the rate of the reference period, and its number of losses."""
        losses, counted = _as_losses(reference, "reference", self.value_range)
        losses, m, half = losses / self.value_range, len(losses), self.delta / 2
        if m == 0:
            refuse("reference", reference, "at least one loss")
        if counted and self.value_range == 1:
            rate = float(binomial_tail_inversion(int(losses.sum()), m, half))
        else:
            mean = min(float(losses.sum(dtype=np.longdouble) / m), 1.0)
            rate = float(hoeffding_bentkus_bound(mean, m, half)) * (1 + 2.0**-50)
        if rate >= 1:
            warn(
                "UserWarning",
                f"reference has {m} losses, from which the bound on their rate is as large as any "
                "loss: no alarm is possible.",
            )
        return rate, m

    def _sentences(self):
        what = f"{self.level_:.6g}"
        if self.n_reference:
            what += f", the bound from {self.n_reference} reference losses"
        if self.alarm:
            yield (
                f"ALARM after {self.alarm_at_} losses: the rate has exceeded {what}. Were it not "
                f"so, this would happen with probability at most {self.delta:.6g}."
            )
        else:
            yield (
                f"No alarm after {self.n_seen_} losses for the level {what}: evidence "
                f"{self.evidence:.3g} of {self._threshold:.3g}."
            )
        if self.n_seen_:
            lower, upper = self.interval()
            yield (
                f"The mean loss is {self.mean:.6g}; with probability at least "
                f"{1 - self.delta:.6g} the mean of the rates is, at every look, in an interval "
                f"that now is {to_safe_side(lower, down=True)} to "
                f"{to_safe_side(upper, down=False)}."
            )

    def __repr__(self) -> str:
        return for_terminal(*self._sentences())


class Watch(NamedTuple):
    """Outcome of watching a stream, made by `watch`.

    Parameters
    ----------
    proved : {"above", "below", None}
        "above" for an alarm, "below" if the mean of the rates so far is proved to be at most the
        level, None if the stream ended without a proof.
    n_seen : int
        Losses seen.
    alarm_at : int or None
        Number of losses after which the alarm was raised.
    mean : float
        Mean of the losses.
    lower, upper : float
        Interval for the mean of their rates.
    level : float
        Level of the monitor.
    evidence : float
        Evidence that the rate has exceeded it; an alarm is at 1 / `delta`, or 2 / `delta` with a
        reference.
    delta : float
        Probability that an alarm is false, and, by itself, that an interval fails.

    Examples
    --------
    >>> from mlcore.bounds import RiskMonitor, watch
    >>> found = watch(RiskMonitor(0.1), [1, 1, 0, 1, 1, 1])
    >>> found.proved, found.alarm_at, found.evidence > 20
    ('above', 5, True)
    """

    proved: Literal["above", "below"] | None
    n_seen: int
    alarm_at: int | None
    mean: float
    lower: float
    upper: float
    level: float
    evidence: float
    delta: float

    __repr__ = fields_as_table


def watch(
    monitor: RiskMonitor,
    losses: Iterable[Any],
    *,
    until: Literal["alarm", "proof"] = "alarm",
) -> Watch:
    """Let a monitor see a stream, and stop as soon as it has a proof.

    Parameters
    ----------
    monitor : RiskMonitor
        It goes on from what it has seen, and has seen these losses afterwards.
    losses : iterable of numbers, or of arrays of them
        Single losses or batches; none are taken after the proof.
    until : {"alarm", "proof"}, default="alarm"
        "alarm" stops at an alarm, "proof" also when the interval is at or below the level, for a
        test that ends as soon as a promise is proved. With a reference there is no such proof: its
        upper bound is not its rate.

    Returns
    -------
    outcome : Watch
        Interval and evidence at the end.

    Raises
    ------
    ValueError
        If `monitor` is none, for losses out of range, and for ``until="proof"`` with a reference.

    Examples
    --------
    >>> from mlcore.bounds import RiskMonitor, watch
    >>> batches = ([0] * 49 + [1] for _ in range(100))
    >>> found = watch(RiskMonitor(0.05), batches, until="proof")
    >>> found.proved, found.n_seen, found.upper < 0.05
    ('below', 400, True)
    """
    if not isinstance(monitor, RiskMonitor):
        refuse("monitor", monitor, "a RiskMonitor")
    both = as_choice(until, "until", ("alarm", "proof")) == "proof"
    if both and monitor.n_reference:
        refuse("until", until, '"alarm" for a monitor with a reference')
    text = isinstance(losses, (str, bytes))
    if text or not isinstance(losses, Iterable) or getattr(losses, "ndim", 1) == 0:
        refuse("losses", losses, "an iterable of losses or of batches of them")
    below = False
    # An interval costs as much as many losses: single ones are looked at after each twentieth part.
    look = monitor.n_seen_
    for batch in () if monitor.alarm else losses:
        monitor.update(batch)
        if monitor.alarm:
            break
        if both and monitor.n_seen_ >= look:
            below = monitor.interval()[1] <= monitor.level_
            look = monitor.n_seen_ + monitor.n_seen_ // 20
            if below:
                break
    lower, upper = monitor.interval()
    return Watch(
        "above" if monitor.alarm else "below" if below else None,
        monitor.n_seen_,
        monitor.alarm_at_,
        monitor.mean,
        lower,
        upper,
        monitor.level_,
        monitor.evidence,
        monitor.delta,
    )


def _payoffs(rate):
    """Return what each bet pays for a loss of 0, and how much more for one of 1.

    The alternatives are a geometric sequence of distances in arcsin(sqrt(q)), in which a binomial
    rate has one variance: from 1 down to 1/181 of the way from the level.
    """
    if rate >= 1:
        return np.full(_BETS, _ROUNDED), np.zeros(_BETS)
    place = math.asin(math.sqrt(rate))
    places = place + (0.5 * math.pi - place) * 2.0 ** (-0.5 * np.arange(_BETS))
    down = np.cos(places) ** 2 / (1 - rate) * _ROUNDED
    down[0] = 0.0
    return down, np.sin(places) ** 2 / rate * _ROUNDED - down


def _as_losses(losses, name, largest):
    """Return losses as float64 (n,), from 0 to the largest, and True if they are counts by type."""
    require_unmasked(losses, name)
    if not is_single(losses) or isinstance(losses, range):
        try:
            losses = np.asarray(losses)
        except ValueError:  # ragged
            refuse(name, losses, "a sequence of losses")
        if losses.shape == (0,):
            return np.empty(0), True
    counted = np.asarray(losses).dtype.kind in "biu"
    if counted and np.asarray(losses).dtype.kind == "b":
        losses = np.asarray(losses).view(np.uint8)
    array = as_reals(losses, name, at_least=0, at_most=largest)
    if array.ndim > 1:
        refuse(name, f"of shape {array.shape}", "one loss or a sequence of them")
    return np.ascontiguousarray(np.atleast_1d(array)), counted
