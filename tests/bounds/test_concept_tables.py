"""Tables of concepts: against the definitions on every class of few points, then the laws."""

import itertools
import math
import signal
import threading
import time
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint, milp

from mlcore.bounds import (
    dichotomies,
    dual_vc_dimension,
    empirical_rademacher,
    growth_function,
    littlestone_dimension,
    shatters,
    teaching_dimension,
    vc_dimension,
    worst_case_mistakes,
)

TABLES = hnp.arrays(
    np.int8, st.tuples(st.integers(1, 24), st.integers(1, 7)), elements=st.integers(0, 1)
)


def patterns(H, columns):
    return {tuple(row) for row in np.asarray(H)[:, list(columns)].tolist()}


def n_patterns(H, columns):
    codes = H[:, list(columns)] @ (1 << np.arange(len(columns)))
    return np.count_nonzero(np.bincount(codes))


def defined_vc(H):
    H = np.asarray(H, dtype=np.int64)
    return max(
        d
        for d in range(H.shape[1] + 1)
        if 2**d <= len(H)
        and any(n_patterns(H, S) == 2**d for S in itertools.combinations(range(H.shape[1]), d))
    )


def defined_growth(H, m):
    H = np.asarray(H, dtype=np.int64)
    return max(n_patterns(H, S) for S in itertools.combinations(range(H.shape[1]), m))


@cache
def defined_ldim(space, n):
    if len(space) <= 1:
        return len(space) - 1
    dimensions = [0]
    for x in range(n):
        halves = [frozenset(h for h in space if h[x] == y) for y in (0, 1)]
        if all(halves):
            dimensions.append(1 + min(defined_ldim(half, n) for half in halves))
    return max(dimensions)


@cache
def defined_mistakes(space, n, predict):
    """`space` is a tuple of concepts in the order of the table."""
    worst = 0
    for x in range(n):
        for y in (0, 1):
            after = tuple(h for h in space if h[x] == y)
            if after and len(after) < len(space):
                mistake = predict([h[x] for h in space]) != y
                worst = max(worst, mistake + defined_mistakes(after, n, predict))
    return worst


def by_majority(values):
    return int(2 * sum(values) >= len(values))


def by_the_first(values):
    return values[0]


def defined_teaching(H):
    n = np.shape(H)[1]
    concepts = patterns(H, range(n))
    return max(
        next(
            size
            for size in range(n + 1)
            if any(
                sum(all(h[x] == g[x] for x in S) for g in concepts) == 1
                for S in itertools.combinations(range(n), size)
            )
        )
        for h in concepts
    )


def classes_up_to_symmetry(n):
    """One class on n points from each orbit under permuting and complementing points."""
    cube = list(itertools.product((0, 1), repeat=n))
    masks = np.arange(1, 2 ** len(cube))
    least = masks.copy()
    for order in itertools.permutations(range(n)):
        for flips in cube:
            to = [1 << cube.index(tuple(point[x] ^ flips[x] for x in order)) for point in cube]
            low, high = (
                np.array(
                    [sum(bit for i, bit in enumerate(bits) if part >> i & 1) for part in range(256)]
                )
                for bits in (to[:8], to[8:])
            )
            image = low[masks & 255] | high[masks >> 8]
            least = np.minimum(least, image)
    for mask in masks[least == masks].tolist():
        yield [point for i, point in enumerate(cube) if mask >> i & 1]


@pytest.mark.parametrize(("n", "number"), [(1, 2), (2, 5), (3, 21), (4, 401)])
def test_every_class_on_few_points_against_the_definitions(n, number):
    seen = 0
    for H in classes_up_to_symmetry(n):
        seen += 1
        vc = defined_vc(H)
        assert vc_dimension(H) == vc
        assert dual_vc_dimension(H) == defined_vc(np.transpose(H)) < 2 ** (vc + 1)
        for m in range(1, n + 1):
            assert growth_function(H, m) == defined_growth(H, m)
        assert littlestone_dimension(H) == defined_ldim(frozenset(H), n)
        for name, predict in (("halving", by_majority), ("consistent", by_the_first)):
            assert worst_case_mistakes(H, name) == defined_mistakes(tuple(H), n, predict)
        assert teaching_dimension(H) == defined_teaching(H)
    assert seen == number


@given(TABLES)
def test_tables_against_the_definitions(H):
    vc, columns = vc_dimension(H, return_set=True)
    assert vc == len(columns) == defined_vc(H) and shatters(H, columns)
    for m in range(1, H.shape[1] + 1):
        assert growth_function(H, m) == defined_growth(H, m)
    assert_array_equal(dichotomies(H, columns), sorted(patterns(H, columns)))


@given(TABLES, st.randoms(use_true_random=False))
def test_laws(H, random):
    n_concepts, n_points = len(patterns(H, range(H.shape[1]))), H.shape[1]
    vc, ldim = vc_dimension(H), littlestone_dimension(H)
    halving = worst_case_mistakes(H, "halving")
    assert vc <= ldim == worst_case_mistakes(H, "soa") <= halving <= math.log2(n_concepts)
    assert ldim <= worst_case_mistakes(H, "consistent") < n_concepts
    assert dual_vc_dimension(H) < 2 ** (vc + 1)
    for m in range(1, n_points + 1):
        growth = growth_function(H, m)
        assert (growth == 2**m) == (m <= vc)
        assert growth <= sum(math.comb(m, i) for i in range(vc + 1))
    other = H[random.sample(range(len(H)), len(H))][:, random.sample(range(n_points), n_points)]
    other = other ^ np.array([random.randrange(2) for _ in range(n_points)], dtype=np.int8)
    other = np.vstack([other, other[random.randrange(len(H))]])
    assert vc_dimension(other) == vc and littlestone_dimension(other) == ldim
    assert teaching_dimension(other) == teaching_dimension(H)
    m = random.randint(1, n_points)
    assert growth_function(other, m) == growth_function(H, m)
    other = np.hstack([other, other[:, [random.randrange(n_points)]], np.ones_like(other[:, :1])])
    assert vc_dimension(other) == vc and littlestone_dimension(other) == ldim


def intervals(n, k=1):
    """Unions of at most k intervals of n points in a row."""
    ends = itertools.combinations_with_replacement(range(n + 1), 2 * k)
    places = np.arange(n)
    return [
        sum((places >= a) & (places < b) for a, b in zip(e[::2], e[1::2], strict=True))
        for e in ends
    ]


def rectangles(points):
    lows_and_highs = [sorted(set(values)) + [np.inf] for values in points.T]
    boxes = itertools.product(
        *(itertools.combinations_with_replacement(cuts, 2) for cuts in lows_and_highs)
    )
    return [
        ((points >= np.array(b)[:, 0]) & (points < np.array(b)[:, 1])).all(axis=1) for b in boxes
    ]


def half_planes(points):
    """A line through two points, turned a little either way, gives every half-plane there is."""
    rows = [np.zeros(len(points)), np.ones(len(points))]
    for a, b in itertools.permutations(points, 2):
        along = b - a
        side = (points - a) @ np.array([-along[1], along[0]])
        on_line = np.abs(side) < 1e-12
        place = (points - a) @ along / (along @ along)
        for turn, cut in itertools.product((1, -1), (-0.5, 0.5, 1.5)):
            rows.append((side > 1e-12) | (on_line & (turn * (place - cut) > 0)))
    return np.array(rows, dtype=int)


def test_classes_whose_dimension_is_known():
    assert [vc_dimension(intervals(n)) for n in (1, 2, 9)] == [1, 2, 2]
    assert vc_dimension(intervals(9, k=2)) == 4
    assert vc_dimension(intervals(130)) == 2  # rows of three words
    thresholds = np.tri(20, 19, -1)
    assert vc_dimension(thresholds) == dual_vc_dimension(thresholds) == 1
    assert littlestone_dimension(thresholds) == 4
    diamond = np.array([[0.0, 1], [0.0, -1], [1.0, 0], [-1.0, 0], [0.1, 0.2], [-0.2, 0.1]])
    assert vc_dimension(rectangles(diamond)) == 4 and shatters(rectangles(diamond), range(4))
    angles = np.arange(7) * 2 * np.pi / 7
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    assert vc_dimension(half_planes(circle)) == 3
    assert growth_function(half_planes(circle), 7) == 7 * 6 + 2
    in_line = np.column_stack([np.arange(5.0), np.zeros(5)])
    assert vc_dimension(half_planes(in_line)) == 2
    cube = np.array(list(itertools.product((0, 1), repeat=6)))
    parities = cube @ cube.T % 2
    assert vc_dimension(parities) == 6
    assert vc_dimension(cube) == 6 and dual_vc_dimension(cube) == 2
    assert teaching_dimension(cube) == 6 and teaching_dimension([[0, 1, 1]]) == 0


@pytest.mark.parametrize("n_columns", [63, 64, 65, 200])
def test_a_shattered_set_is_found_among_many_columns(n_columns):
    rng = np.random.default_rng(n_columns)
    H = (rng.random((64, n_columns)) < 0.04).astype(int)
    places = [1, 5, n_columns // 2, n_columns - 2, n_columns - 1]
    H[:32][:, places] = list(itertools.product((0, 1), repeat=5))
    assert vc_dimension(H) == 5
    assert growth_function(H, 5) == 32
    assert vc_dimension(H[:, rng.permutation(n_columns)]) == 5


@pytest.mark.parametrize(("n_rows", "share"), [(300, 0.5), (1500, 0.3), (1500, 0.1)])
def test_many_rows_against_the_definitions(n_rows, share):
    H = (np.random.default_rng(n_rows).random((n_rows, 11)) < share).astype(int)
    assert vc_dimension(H) == defined_vc(H)
    for m in (3, 6, 9):
        assert growth_function(H, m) == defined_growth(H, m)


def test_entries_may_be_bool_or_signs_and_rows_may_repeat():
    H = np.array([[0, 1, 1], [1, 1, 0], [1, 1, 0]])
    for same in (H.tolist(), H.astype(bool), 2 * H - 1, H.astype(float), np.asfortranarray(H)):
        assert vc_dimension(same) == 1 and littlestone_dimension(same) == 1
        assert growth_function(same, 2) == 2
    assert H.tolist() == [[0, 1, 1], [1, 1, 0], [1, 1, 0]]
    assert vc_dimension([[1, 1], [1, 1]]) == littlestone_dimension([[-1]]) == 0
    assert type(vc_dimension(H)) is type(growth_function(H, 1)) is int
    assert worst_case_mistakes([[0, 0], [0, 1], [1, 0]], "consistent") == 1
    assert worst_case_mistakes([[0, 1], [1, 0], [0, 0]], "consistent") == 2


def test_a_class_that_is_too_large_is_refused():
    cube = list(itertools.product((0, 1), repeat=4))
    for function in (vc_dimension, littlestone_dimension):
        assert function(cube + cube, max_size=16) == 4
        with pytest.raises(ValueError, match=r"max_size=15.*16 different"):
            function(cube, max_size=15)
    with pytest.raises(ValueError, match="max_size"):
        worst_case_mistakes(cube, "halving", max_size=2)
    assert dual_vc_dimension(cube, max_size=4) == 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize(
    "search",
    [
        vc_dimension,
        lambda H: growth_function(H, 30),
        lambda H: worst_case_mistakes(H, "consistent", max_size=None, max_spaces=None),
        teaching_dimension,
        lambda H: empirical_rademacher(H[:, :24]),
        lambda H: empirical_rademacher(H, n_draws=10**7),
    ],
)
def test_a_long_search_stops_within_a_second(search):
    assert threading.current_thread() is threading.main_thread()
    H = np.random.default_rng(0).integers(0, 2, (10_000, 60))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        start = time.process_time()
        with pytest.raises(KeyboardInterrupt):
            search(H)
        assert time.process_time() - start < 1.5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def few_ones(n, most):
    """All labellings of n points with so many ones at most: many symmetries."""
    return [h for h in itertools.product((0, 1), repeat=n) if sum(h) <= most]


@pytest.mark.parametrize("name", ["halving", "consistent"])
@pytest.mark.parametrize("table", ["few ones", "sparse", "singletons", "shuffled singletons"])
def test_symmetries_change_no_mistakes(name, table):
    rng = np.random.default_rng(0)
    if table == "few ones":
        tables = [few_ones(5, 2), few_ones(6, 1), [h[::-1] for h in few_ones(5, 2)][::-1]]
    elif table == "sparse":
        tables = [(rng.random((12, 8)) < 0.2).astype(int).tolist() for _ in range(15)]
    else:
        rows = np.eye(9, dtype=int)
        tables = [rng.permutation(rows) if table[:8] == "shuffled" else rows, 1 - rows]
    predict = by_majority if name == "halving" else by_the_first
    for H in tables:
        concepts = tuple(dict.fromkeys(map(tuple, np.asarray(H).tolist())))
        expected = defined_mistakes(concepts, len(concepts[0]), predict)
        assert worst_case_mistakes(H, name) == expected


@pytest.mark.parametrize("seed", range(3))
def test_complemented_points_are_other_points_to_halving(seed):
    # On a tie it says 1, so that complements change its mistakes; there are 2,000 version spaces.
    rng = np.random.default_rng(seed)
    H = np.array(few_ones(9, 2)) ^ (rng.integers(0, 2, 9) if seed else 0)
    expected = defined_mistakes(tuple(map(tuple, H.tolist())), 9, by_majority)
    assert worst_case_mistakes(rng.permutation(H), "halving") == expected


def test_a_search_among_fair_coins_and_thresholds_is_short():
    rng = np.random.default_rng(0)
    thresholds = np.tri(200, dtype=int)
    assert worst_case_mistakes(thresholds, "halving", max_spaces=10) == 7
    assert worst_case_mistakes(thresholds, "consistent", max_spaces=200) == 199
    coins = rng.integers(0, 2, (40, 12))
    assert worst_case_mistakes(coins, "halving", max_spaces=10) == 5
    expected = defined_mistakes(tuple(map(tuple, coins.tolist())), 12, by_the_first)
    assert worst_case_mistakes(coins, "consistent", max_spaces=1000) == expected


def teaching_by_programming(H):
    """A least set of points that tells each concept from the others, by integer programmes."""
    sizes = []
    for h in range(len(H)):
        differs = np.delete(H ^ H[h], h, axis=0)
        every = LinearConstraint(differs, 1, np.inf)
        found = milp(np.ones(H.shape[1]), integrality=1, bounds=(0, 1), constraints=every)
        sizes.append(round(found.fun))
    return max(sizes)


@pytest.mark.parametrize(
    ("n_concepts", "n_points", "share", "most"), [(40, 25, 0.2, 1000), (60, 40, 0.07, 1000)]
)
def test_teaching_by_integer_programmes(n_concepts, n_points, share, most):
    H = np.unique(np.random.default_rng(1).random((n_concepts, n_points)) < share, axis=0)
    H = H.astype(int)
    assert teaching_dimension(H, max_sets=most) == teaching_by_programming(H)


def test_a_concept_that_takes_every_point():
    singletons = np.vstack([np.zeros((1, 300), dtype=int), np.eye(300, dtype=int)])
    assert teaching_dimension(singletons, max_sets=2000) == 300


def test_too_many_sets_of_points_are_refused():
    H = (np.random.default_rng(0).random((400, 40)) < 0.3).astype(int)
    searches = (teaching_dimension, lambda H, **most: growth_function(H, 9, **most))
    for search in searches:
        with pytest.raises(ValueError, match=r"max_sets=50, .* 400 different .* 40 points"):
            search(H, max_sets=50)
        with pytest.raises(ValueError, match="max_sets=0"):
            search(H, max_sets=0)
        assert search(H[:9, :12], max_sets=None) == search(H[:9, :12] ^ 1, max_sets=500)
    with pytest.raises(ValueError, match="max_sets=50"):  # in the search for shattered sets
        growth_function(np.random.default_rng(0).integers(0, 2, (500, 60)), 9, max_sets=50)


def test_classes_of_many_symmetries_have_few_version_spaces():
    singletons = np.eye(60, dtype=int)
    assert worst_case_mistakes(singletons, "halving", max_spaces=200) == 1
    assert worst_case_mistakes(singletons, "consistent", max_spaces=200) == 59
    assert worst_case_mistakes(few_ones(12, 2), "halving", max_spaces=2000) == 2


def test_too_many_version_spaces_are_refused():
    H = (np.random.default_rng(0).random((40, 40)) < 0.08).astype(int)
    for name in ("halving", "consistent"):
        with pytest.raises(ValueError, match=r"max_spaces=300, .* concepts on 40 points"):
            worst_case_mistakes(H, name, max_spaces=300)
        with pytest.raises(ValueError, match="max_spaces=0"):
            worst_case_mistakes(H, name, max_spaces=0)
