"""Objectives of fitted models in 50 digits, from their definitions: the truth behind evidence."""

import numpy as np
from mpmath import MPContext
from mpmath.libmp import from_float

mp = MPContext()  # of its own, as the precision of others is theirs
mp.dps = 50


def exact(array):
    """Nested lists of mpf, to the last bit of `array`."""
    array = np.asarray(array, dtype=np.float64)
    if array.ndim > 1:
        return [exact(row) for row in array]
    # Half the time of mp.mpf(v), which looks at the type and the precision of v.
    return [mp.make_mpf(from_float(v)) for v in array.tolist()] if array.ndim else mp.mpf(array[()])


def products(X, w):
    """X w for rows X and a vector w, both exact."""
    return [mp.fdot(row, w) for row in X]


def quadratic(K, a):
    """a'K a."""
    return mp.fdot(a, products(K, a))


def logistic(X, codes, coef, intercept, C, s, r=0.0, offset=None):
    """C sum s l + (1 - r)/2 |W|² + r sum |w|, classes coded 0 to k - 1."""
    X, W, b, s = exact(X), exact(np.atleast_2d(coef)), exact(np.ravel(intercept)), exact(s)
    scores = [products(X, w) for w in W]
    n = len(X)
    moved = exact(np.zeros(n) if offset is None else offset)
    moved = (
        [moved] if not isinstance(moved[0], list) else [list(c) for c in zip(*moved, strict=True)]
    )
    scores = [
        [z + bk + m for z, m in zip(row, moved[k % len(moved)], strict=True)]
        for k, (row, bk) in enumerate(zip(scores, b, strict=True))
    ]
    losses = []
    for i in range(n):
        if len(scores) == 1:
            z = scores[0][i] * (1 if codes[i] else -1)
            losses.append(_softplus(-z))
        else:
            z = [row[i] - scores[int(codes[i])][i] for row in scores]
            top = max(z)
            losses.append(top + mp.log(mp.fsum(mp.exp(v - top) for v in z)))
    squares = mp.fsum(w * w for row in W for w in row)
    sizes = mp.fsum(abs(w) for row in W for w in row)
    total = mp.fdot(s, losses)
    # C may be infinite: the unpenalised objective is the loss alone.
    if not np.isfinite(C):
        return total
    return mp.mpf(C) * total + (1 - mp.mpf(r)) / 2 * squares + mp.mpf(r) * sizes


def _softplus(z):
    return mp.log1p(mp.exp(z)) if z < 0 else z + mp.log1p(mp.exp(-z))


def polished_logistic(X, codes, coef, intercept, C, s, offset=None, steps=4):
    """The least objective that Newton steps in 50 digits reach from these coefficients."""
    n, d = X.shape
    C = mp.mpf(C) if np.isfinite(C) else None
    rows, s = [[*row, mp.mpf(1)] for row in exact(X)], exact(s)
    moved = exact(np.zeros(n) if offset is None else offset)
    theta = [*exact(np.ravel(coef)), mp.mpf(float(np.ravel(intercept)[0]))]
    factor, ridge = (C, 1) if C is not None else (mp.mpf(1), 0)

    def value(theta):
        z = [mp.fdot(row, theta) + m for row, m in zip(rows, moved, strict=True)]
        losses = [_softplus(-v if c else v) for v, c in zip(z, codes, strict=True)]
        return factor * mp.fdot(s, losses) + mp.mpf(ridge) / 2 * mp.fdot(theta[:d], theta[:d])

    best = value(theta)
    for _ in range(steps):
        z = [mp.fdot(row, theta) + m for row, m in zip(rows, moved, strict=True)]
        p = [1 / (1 + mp.exp(-v)) for v in z]
        g = [
            factor
            * mp.fdot([si * (pi - int(c)) for si, pi, c in zip(s, p, codes, strict=True)], column)
            for column in zip(*rows, strict=True)
        ]
        h = [factor * si * pi * (1 - pi) for si, pi in zip(s, p, strict=True)]
        H = mp.matrix(d + 1, d + 1)
        columns = list(zip(*rows, strict=True))
        for i in range(d + 1):
            for j in range(d + 1):
                H[i, j] = mp.fsum(
                    hi * a * b for hi, a, b in zip(h, columns[i], columns[j], strict=True)
                )
            if i < d:
                g[i] += ridge * theta[i]
                H[i, i] += ridge
        try:
            step = mp.lu_solve(H, mp.matrix(g))
        except ZeroDivisionError:
            break
        moved_to = [t - u for t, u in zip(theta, step, strict=True)]
        reached = value(moved_to)
        if not reached < best:
            break
        theta, best = moved_to, reached
    return best


def linear_machine(X, y, w, b, C, s, eps, squared, of_classes):
    """1/2 |w|² + C sum s l for the residuals of a linear function, targets ±1 or numbers."""
    total = mp.mpf(0)
    for row, t, weight in zip(exact(X), exact(y), exact(s), strict=True):
        e = t - mp.fdot(row, w) - b
        excess = max(e * t, mp.mpf(0)) if of_classes else max(abs(e) - mp.mpf(eps), mp.mpf(0))
        total += weight * (excess**2 if squared else excess)
    return mp.fdot(w, w) / 2 + mp.mpf(C) * total


def squared_minimum(X, y, w, b, C, s, eps, of_classes, steps=8):
    """The least objective of a squared loss that Newton steps in 50 digits reach from w and b."""
    rows, y, s, C = [[*row, mp.mpf(1)] for row in exact(X)], exact(y), exact(s), mp.mpf(C)
    theta, d = [*w, b], len(w)
    best = linear_machine(X, y, w, b, C, s, eps, True, of_classes)
    for _ in range(steps):
        H, g = mp.matrix(d + 1, d + 1), mp.matrix([*theta[:d], mp.mpf(0)])
        for j in range(d):
            H[j, j] = mp.mpf(1)
        for row, t, weight in zip(rows, y, s, strict=True):
            e = t - mp.fdot(row, theta)
            if of_classes:
                excess = e if e * t > 0 else mp.mpf(0)
            else:
                excess = mp.sign(e) * max(abs(e) - mp.mpf(eps), mp.mpf(0))
            if excess == 0:
                continue
            for i in range(d + 1):
                g[i] -= 2 * C * weight * excess * row[i]
                for j in range(d + 1):
                    H[i, j] += 2 * C * weight * row[i] * row[j]
        try:
            step = mp.lu_solve(H, g)
        except ZeroDivisionError:
            break
        theta = [t - v for t, v in zip(theta, step, strict=True)]
        reached = linear_machine(X, y, theta[:d], theta[d], C, s, eps, True, of_classes)
        best = min(best, reached)
    return best


def least_squares(X, y, coef, intercept, alpha, s):
    """sum s (y - Xw - b)² + alpha |w|²."""
    residuals = [
        t - z - mp.mpf(float(intercept))
        for t, z in zip(exact(y), products(exact(X), exact(coef)), strict=True)
    ]
    w = exact(coef)
    return mp.fsum(si * r * r for si, r in zip(exact(s), residuals, strict=True)) + mp.mpf(
        alpha
    ) * mp.fdot(w, w)


def elastic_net(X, y, coef, intercept, alpha, r, s):
    """1/(2 S) sum s (y - Xw - b)² + alpha (r sum |w| + (1 - r)/2 |w|²), S the sum of s."""
    w, alpha, r = exact(coef), mp.mpf(alpha), mp.mpf(r)
    squares = least_squares(X, y, coef, intercept, 0, s) / mp.fsum(exact(s)) / 2
    return squares + alpha * (r * mp.fsum(abs(v) for v in w) + (1 - r) / 2 * mp.fdot(w, w))


def elastic_net_of_face(X, y, coef, alpha, r, s):
    """The least objective over the coefficients that are not 0, with their signs fixed, if this
    keeps them; else infinite.
    """
    face, s, alpha, r = np.flatnonzero(coef), exact(s), mp.mpf(alpha), mp.mpf(r)
    total = mp.fsum(s)
    columns = [exact(X[:, j]) for j in face]
    signs = [mp.mpf(float(np.sign(coef[j]))) for j in face]
    means = [mp.fdot(s, c) / total for c in columns]
    Z = [[v - m for v in c] for c, m in zip(columns, means, strict=True)]
    t = exact(y)
    mean = mp.fdot(s, t) / total
    t = [v - mean for v in t]
    w = []
    if len(face):
        m = len(face)
        G, c = mp.matrix(m, m), mp.matrix(m, 1)
        for i in range(m):
            weighted = [si * v for si, v in zip(s, Z[i], strict=True)]
            for j in range(m):
                G[i, j] = mp.fdot(weighted, Z[j]) / total
            G[i, i] += alpha * (1 - r)
            c[i] = mp.fdot(weighted, t) / total - alpha * r * signs[i]
        try:
            w = list(mp.lu_solve(G, c))
        except ZeroDivisionError:
            return mp.inf
    if any(v * sign < 0 for v, sign in zip(w, signs, strict=True)):
        return mp.inf
    residuals = [v - mp.fsum(z[i] * u for z, u in zip(Z, w, strict=True)) for i, v in enumerate(t)]
    squares = mp.fsum(si * v * v for si, v in zip(s, residuals, strict=True)) / total / 2
    return squares + alpha * (r * mp.fsum(abs(v) for v in w) + (1 - r) / 2 * mp.fdot(w, w))


def multi_task(X, Y, coef, intercept, alpha, r, s):
    """`elastic_net` of all targets, with the lengths of the coefficients (k, d) of features."""
    W, alpha, r = exact(coef), mp.mpf(alpha), mp.mpf(r)
    squares = mp.fsum(
        least_squares(X, y, w, b, 0, s) for y, w, b in zip(Y.T, coef, intercept, strict=True)
    )
    lengths = mp.fsum(mp.sqrt(mp.fdot(c, c)) for c in zip(*W, strict=True))
    ridge = (1 - r) / 2 * mp.fsum(mp.fdot(w, w) for w in W)
    return squares / mp.fsum(exact(s)) / 2 + alpha * (r * lengths + ridge)


def polished_multi_task(X, Y, coef, alpha, r, s, steps=4):
    """The least objective that Newton steps in 50 digits reach from these coefficients, in the
    features that are not 0.
    """
    s, alpha, r = exact(s), mp.mpf(alpha), mp.mpf(r)
    total, k = mp.fsum(s), len(coef)

    def centred(column):
        column = exact(column)
        mean = mp.fdot(s, column) / total
        return [v - mean for v in column]

    def weighted(one, other):
        return mp.fsum(w * u * v for w, u, v in zip(s, one, other, strict=True)) / total

    face = np.flatnonzero(coef.any(axis=0))
    Z, T = [centred(X[:, j]) for j in face], [centred(y) for y in Y.T]
    G = [[weighted(one, other) for other in Z] for one in Z]
    C = [[weighted(y, z) for z in Z] for y in T]
    squares, a = mp.fsum(weighted(y, y) for y in T), len(face)

    def value(W):
        fit = mp.fsum(mp.fdot(w, c) - quadratic(G, w) / 2 for w, c in zip(W, C, strict=True))
        sizes = mp.fsum(mp.sqrt(mp.fdot(c, c)) for c in zip(*W, strict=True))
        ridge = (1 - r) / 2 * mp.fsum(mp.fdot(w, w) for w in W)
        return squares / 2 - fit + alpha * (r * sizes + ridge)

    W = [[exact(coef[t, j]) for j in face] for t in range(k)]
    best = value(W)
    for _ in range(steps if a else 0):
        length = [mp.sqrt(mp.fdot(c, c)) for c in zip(*W, strict=True)]
        g, H = mp.matrix(k * a, 1), mp.zeros(k * a)
        for t in range(k):
            slopes = products(G, W[t])
            for i in range(a):
                g[t * a + i] = slopes[i] - C[t][i] + alpha * (1 - r + r / length[i]) * W[t][i]
                for j in range(a):
                    H[t * a + i, t * a + j] += G[i][j]
                H[t * a + i, t * a + i] += alpha * (1 - r + r / length[i])
                for u in range(k):
                    H[t * a + i, u * a + i] -= alpha * r * W[t][i] * W[u][i] / length[i] ** 3
        try:
            step = mp.lu_solve(H, g)
        except ZeroDivisionError:
            break
        moved = [[W[t][i] - step[t * a + i] for i in range(a)] for t in range(k)]
        reached = value(moved)
        if not reached < best:
            break
        W, best = moved, reached
    return best


def least_squares_minimum(X, y, alpha, s):
    """The minimum over w and b, by the normal equations of centred columns."""
    X, y, s = exact(X), exact(y), exact(s)
    total = mp.fsum(s)
    middle = [mp.fdot(s, column) / total for column in zip(*X, strict=True)]
    centre = mp.fdot(s, y) / total
    X = [[v - m for v, m in zip(row, middle, strict=True)] for row in X]
    y = [v - centre for v in y]
    d = len(middle)
    columns = [list(c) for c in zip(*X, strict=True)]
    A = mp.matrix(d, d)
    for i in range(d):
        for j in range(d):
            A[i, j] = mp.fsum(
                si * a * b for si, a, b in zip(s, columns[i], columns[j], strict=True)
            )
        A[i, i] += mp.mpf(alpha)
    g = [mp.fsum(si * a * t for si, a, t in zip(s, column, y, strict=True)) for column in columns]
    w = list(mp.lu_solve(A, mp.matrix(g)))
    residuals = [t - z for t, z in zip(y, products(X, w), strict=True)]
    return mp.fsum(si * r * r for si, r in zip(s, residuals, strict=True)) + mp.mpf(
        alpha
    ) * mp.fdot(w, w)


def gram(X, kernel, gamma=1.0, degree=3, coef0=0.0, origin=None):
    """The kernel matrix by its definition, of the samples' differences to an origin if there is."""
    X = exact(X)
    if origin is not None:
        X = [[a - b for a, b in zip(row, exact(origin), strict=True)] for row in X]
    gamma, coef0 = mp.mpf(float(gamma)), mp.mpf(coef0)
    of = {
        "linear": lambda x, z: mp.fdot(x, z),
        "poly": lambda x, z: (gamma * mp.fdot(x, z) + coef0) ** degree,
        "rbf": lambda x, z: mp.exp(-gamma * distance(x, z, 2)),
        "laplacian": lambda x, z: mp.exp(-gamma * distance(x, z, 1)),
    }[kernel]
    half = [[of(x, z) for z in X[: i + 1]] for i, x in enumerate(X)]  # it is symmetric
    return [[half[max(i, j)][min(i, j)] for j in range(len(X))] for i in range(len(X))]


def distance(x, c, power):
    """The sum of |x - c| to this power, over the features."""
    return mp.fsum(abs(a - b) ** power for a, b in zip(x, c, strict=True))


def centred(K, s=None):
    """K of images less their mean, which leaves a machine with a free intercept as it is."""
    n = len(K)
    s = [mp.mpf(1)] * n if s is None else s
    total = mp.fsum(s)
    means = [mp.fdot(s, row) / total for row in K]
    mean = mp.fdot(s, means) / total
    return [[K[i][j] - means[i] - means[j] + mean for j in range(n)] for i in range(n)]


def hinge(K, signs, f, a, C, s):
    """1/2 a'Ka + C sum s max(0, 1 - y f)."""
    losses = [max(mp.mpf(0), 1 - int(y) * v) for y, v in zip(signs, f, strict=True)]
    return quadratic(K, a) / 2 + mp.mpf(C) * mp.fdot(exact(s), losses)


def tube(K, y, f, a, C, s, epsilon):
    """1/2 a'Ka + C sum s max(0, |y - f| - epsilon)."""
    losses = [max(mp.mpf(0), abs(t - v) - epsilon) for t, v in zip(exact(y), f, strict=True)]
    return quadratic(K, a) / 2 + mp.mpf(C) * mp.fdot(exact(s), losses)


def margins(K, signs, f, a, rho, nu, s):
    """1/2 a'Ka - nu S rho + sum s max(0, rho - y f), S the sum of s."""
    s = exact(s)
    losses = [max(mp.mpf(0), rho - int(y) * v) for y, v in zip(signs, f, strict=True)]
    return quadratic(K, a) / 2 - mp.mpf(nu) * mp.fsum(s) * rho + mp.fdot(s, losses)


def one_class(K, f, a, rho, nu, s):
    """1/2 a'Ka - nu S rho + sum s max(0, rho - f), S the sum of s."""
    s = exact(s)
    losses = [max(mp.mpf(0), rho - v) for v in f]
    return quadratic(K, a) / 2 - mp.mpf(nu) * mp.fsum(s) * rho + mp.fdot(s, losses)


def ridge(K, y, f, a, alpha, s):
    """sum s (y - f)² + alpha a'Ka, f with the intercept."""
    return mp.fsum(
        si * (t - v) ** 2 for si, t, v in zip(exact(s), exact(y), f, strict=True)
    ) + mp.mpf(alpha) * quadratic(K, a)


def ridge_minimum(K, y, alpha, s, intercept):
    """The least of that over functions of the samples' span, and b if there is one."""
    n, alpha = len(K), mp.mpf(alpha)
    s, y = exact(s), exact(y)
    size = n + bool(intercept)
    A = mp.matrix(size, size)
    for i in range(n):
        for j in range(n):
            A[i, j] = K[i][j]
        A[i, i] += alpha / s[i]
        if intercept:
            A[i, n] = A[n, i] = mp.mpf(1)
    found = list(mp.lu_solve(A, mp.matrix([*y, *([mp.mpf(0)] * bool(intercept))])))
    a, b = found[:n], found[n] if intercept else mp.mpf(0)
    return ridge(K, y, [z + b for z in products(K, a)], a, alpha, s)


def covariance(X, s, ddof=0):
    """Weighted covariance of the columns, and the mean."""
    X, s = exact(X), exact(s)
    total = mp.fsum(s)
    columns = [list(c) for c in zip(*X, strict=True)]
    mean = [mp.fdot(s, c) / total for c in columns]
    moved = [[v - m for v in c] for c, m in zip(columns, mean, strict=True)]
    d = len(mean)
    S = mp.matrix(d, d)
    for i in range(d):
        for j in range(d):
            S[i, j] = mp.fsum(w * a * b for w, a, b in zip(s, moved[i], moved[j], strict=True)) / (
                total - ddof
            )
    return S, mean


def normal_log_density(x, mean, covariance):
    """ln N(x; mean, covariance), all exact; mpmath's factor takes no covariance below 1e-50."""
    d = len(x)
    L = mp.matrix(d, d)
    for i in range(d):
        for j in range(i + 1):
            rest = covariance[i, j] - mp.fsum(L[i, k] * L[j, k] for k in range(j))
            L[i, j] = mp.sqrt(rest) if i == j else rest / L[j, j]
    z = []
    for i in range(d):
        rest = x[i] - mean[i] - mp.fsum(L[i, k] * z[k] for k in range(i))
        z.append(rest / L[i, i])
    log_root = mp.fsum(mp.log(L[i, i]) for i in range(d))
    return -(d * mp.log(2 * mp.pi) + mp.fdot(z, z)) / 2 - log_root


def within_clusters(K, labels, s):
    """sum over clusters of sum s k(x, x) - |sum s phi(x)|² / sum s."""
    total, s = mp.mpf(0), exact(s)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        weight = mp.fsum(s[i] for i in rows)
        total += mp.fsum(s[i] * K[i][i] for i in rows)
        if weight:
            total -= mp.fsum(s[i] * s[j] * K[i][j] for i in rows for j in rows) / weight
    return total
