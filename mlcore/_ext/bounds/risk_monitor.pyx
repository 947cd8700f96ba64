"""Hot loop of mlcore.bounds.sequential.risk_monitor: bets against a level, and sums, loss by loss.

Before each loss every alternative receives a part of the capital that is not yet invested, and its
capital is then multiplied by what the loss pays: down + slope x. Start t is worth 2^-i / (i + 1) /
(i + 2), i = floor(log2 t), which sums to 1: a change after t losses costs about ln t nats, and with
one start alone a multiple of t. One thread visits the losses in order, so that pieces give the same
bytes, in 13 ns each.
"""
from libc.stdint cimport int64_t

cdef enum:
    BETS = 16
    HALF = 8
    QUARTER = 4


def bet(const double[::1] losses, double value_range, const double[::1] down,
        const double[::1] slope, double[::1] capital, double[::1] sums, int64_t seen,
        int64_t alarm, double threshold, /):
    """Return the number of the loss at which the capital reached `threshold`, 0 if it has not.

    `alarm` is that number before these losses, and `seen` how many there were: bets end at it.
    `capital` (BETS,) and `sums` go on: sum of the losses, what its rounding has lost, sum of the
    squared errors of running means, greatest capital. Losses are divided by `value_range`.
    """
    cdef Py_ssize_t n = losses.shape[0], i
    cdef int j
    cdef double x, y, added, total = sums[0], lost = sums[1], squares = sums[2], most = sums[3]
    cdef double share, idle, start, epochs, held
    cdef double[BETS] own
    cdef double[HALF] pairs
    cdef int64_t t = seen, epoch
    with nogil:
        # The epoch of the next loss, and what is invested at each of its starts.
        epoch, epochs, start = 1, 1, 0.5
        while 2 * epoch <= t + 1:
            epoch, epochs = 2 * epoch, epochs + 1
        start = 1 / (epoch * epochs * (epochs + 1))
        for j in range(BETS):
            own[j] = capital[j]
        for i in range(n):
            x = losses[i] / value_range
            t += 1
            # Sums: the mean before the loss is (1/2 + total) / t.
            y = x - (0.5 + total) / t
            squares += y * y
            added = total + x
            lost += (total - added) + x if total >= x else (x - added) + total
            total = added
            if alarm:
                continue
            # Bets.
            if t == 2 * epoch:
                epoch, epochs = t, epochs + 1
                start = 1 / (epoch * epochs * (epochs + 1))
            share = start / BETS
            for j in range(BETS):
                own[j] = (own[j] + share) * (down[j] + slope[j] * x)
            for j in range(HALF):
                pairs[j] = own[j] + own[j + HALF]
            for j in range(QUARTER):
                pairs[j] += pairs[j + QUARTER]
            idle = 1 / epochs - (t - epoch + 1) * start
            held = ((pairs[0] + pairs[2]) + (pairs[1] + pairs[3])) + idle
            if held > most:
                most = held
                if held >= threshold:
                    alarm = t
        for j in range(BETS):
            capital[j] = own[j]
    sums[0], sums[1], sums[2], sums[3] = total, lost, squares, most
    return alarm
