"""How many examples teach a concept."""

from typing import Any

from mlcore.bounds.concept_table import as_integers, as_table, distinct_concepts


def teaching_dimension(H: Any) -> int:
    """Compute how many labelled points tell every concept of a table from all the others.

    The largest, over concepts, of the least number of points that no other concept labels alike:
    a minimum hitting set for each, so only for small classes.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too. Equal rows are one concept.

    Returns
    -------
    dimension : int

    Raises
    ------
    ValueError
        If `H` has other entries or is empty.

    References
    ----------
    S. A. Goldman, M. J. Kearns, *On the complexity of teaching*, Journal of Computer and System
    Sciences 50, 1995.

    Examples
    --------
    >>> from mlcore.bounds import teaching_dimension
    >>> teaching_dimension([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])  # three for the first
    3
    """
    table = distinct_concepts(as_table(H), None)
    columns = as_integers(table)
    everyone = (1 << len(table)) - 1
    dimension = 0
    for h in range(len(table)):
        alike = [column if column >> h & 1 else everyone ^ column for column in columns]
        while not _isolates(everyone ^ (1 << h), set(alike), dimension):
            dimension += 1
    return dimension


def _isolates(others, alike, n_points):
    """Whether `n_points` of the sets `alike`, of concepts that agree, have none of `others`."""
    if not others:
        return True
    if n_points == 0:
        return False
    kept = [others & agreeing for agreeing in alike]
    least = min(kept, key=int.bit_count)
    if n_points * (others.bit_count() - least.bit_count()) < others.bit_count():
        return False
    if n_points == 1:
        return not least
    # One of the points that reject the concept with fewest such points must be taken.
    hardest = min(_members(others), key=lambda h: sum(not left >> h & 1 for left in kept))
    useful = [left for left in kept if not left >> hardest & 1]
    return any(_isolates(left, kept, n_points - 1) for left in sorted(useful, key=int.bit_count))


def _members(bits):
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1
