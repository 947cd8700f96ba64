"""Numbers replaced by their ranks among those that occur."""

import numpy as np


def most_marked(n):
    """Return up to which number n numbers are ranked by marking those that occur."""
    return 8 * n + 1000


def ranked(numbers, bound):
    """Return the numbers that occur, sorted, and the place among them of each; all below bound."""
    if bound > most_marked(len(numbers)):
        return np.unique(numbers, return_inverse=True)
    marks = np.zeros(bound, bool)
    marks[numbers] = True
    return np.flatnonzero(marks), (np.cumsum(marks) - 1)[numbers]


def places_in(numbers, table):
    """Return the place in the sorted table of each number, -1 for one that it lacks."""
    if not len(table):
        return np.full(len(numbers), -1)
    places = np.searchsorted(table, numbers)
    places[places == len(table)] = 0
    return np.where(table[places] == numbers, places, -1)
