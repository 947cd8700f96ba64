"""Do the ages of a population go with how it saves? Canonical correlations of 50 countries.

python examples/savings_and_age.py              prints correlations, loadings and tests
python examples/savings_and_age.py FILE.svg     draws the first pair of variates, with matplotlib
"""

import sys

import numpy as np

from mlcore.decomposition import CCA

# Averages of 1960-1970: savings over income in percent, percent of the population below 15 and
# above 75 years, disposable income per head in dollars and its growth in percent. From D. Belsley,
# E. Kuh, R. Welsch, Regression Diagnostics, Wiley 1980, as in R's LifeCycleSavings.
COUNTRIES = """
Australia 11.43 29.35 2.87 2329.68 2.87  Austria 12.07 23.32 4.41 1507.99 3.93
Belgium 13.17 23.80 4.43 2108.47 3.82  Bolivia 5.75 41.89 1.67 189.13 0.22
Brazil 12.88 42.19 0.83 728.47 4.56  Canada 8.79 31.72 2.85 2982.88 2.43
Chile 0.60 39.74 1.34 662.86 2.67  China 11.90 44.75 0.67 289.52 6.51
Colombia 4.98 46.64 1.06 276.65 3.08  Costa_Rica 10.78 47.64 1.14 471.24 2.80
Denmark 16.85 24.42 3.93 2496.53 3.99  Ecuador 3.59 46.31 1.19 287.77 2.19
Finland 11.24 27.84 2.37 1681.25 4.32  France 12.64 25.06 4.70 2213.82 4.52
Germany 12.55 23.31 3.35 2457.12 3.44  Greece 10.67 25.62 3.10 870.85 6.28
Guatemala 3.01 46.05 0.87 289.71 1.48  Honduras 7.70 47.32 0.58 232.44 3.19
Iceland 1.27 34.03 3.08 1900.10 1.12  India 9.00 41.31 0.96 88.94 1.54
Ireland 11.34 31.16 4.19 1139.95 2.99  Italy 14.28 24.52 3.48 1390.00 3.54
Japan 21.10 27.01 1.91 1257.28 8.21  Korea 3.98 41.74 0.91 207.68 5.81
Luxembourg 10.35 21.80 3.73 2449.39 1.57  Malta 15.48 32.54 2.47 601.05 8.12
Norway 10.25 25.95 3.67 2231.03 3.62  Netherlands 14.65 24.71 3.25 1740.70 7.66
New_Zealand 10.67 32.61 3.17 1487.52 1.76  Nicaragua 7.30 45.04 1.21 325.54 2.48
Panama 4.44 43.56 1.20 568.56 3.61  Paraguay 2.02 41.18 1.05 220.56 1.03
Peru 12.70 44.19 1.28 400.06 0.67  Philippines 12.78 46.26 1.12 152.01 2.00
Portugal 12.49 28.96 2.85 579.51 7.48  South_Africa 11.14 31.94 2.28 651.11 2.19
South_Rhodesia 13.30 31.92 1.52 250.96 2.00  Spain 11.77 27.74 2.87 768.79 4.35
Sweden 6.86 21.44 4.54 3299.49 3.01  Switzerland 14.13 23.49 3.73 2630.96 2.70
Turkey 5.13 43.42 1.08 389.66 2.96  Tunisia 2.81 46.12 1.21 249.87 1.13
United_Kingdom 7.81 23.27 4.46 1813.93 2.01  United_States 7.56 29.81 3.43 4001.89 2.45
Venezuela 9.22 46.40 0.90 813.39 0.53  Zambia 18.56 45.25 0.56 138.33 5.14
Jamaica 7.72 41.12 1.73 380.47 10.23  Uruguay 9.24 28.13 2.72 766.54 1.88
Libya 8.89 43.69 2.07 123.58 16.71  Malaysia 4.71 47.20 0.66 242.69 5.08
"""


def savings() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Countries, and of each the ages (50, 2) and the savings, income and growth (50, 3)."""
    cells = np.array(COUNTRIES.split()).reshape(50, 6)
    values = cells[:, 1:].astype(float)
    return [name.replace("_", " ") for name in cells[:, 0]], values[:, 1:3], values[:, [0, 3, 4]]


def report(model: CCA) -> list[str]:
    """The lines of three tables."""
    test = model.dimension_test()
    lines = [f"{'pair':28}{1:>10}{2:>10}"]
    rho = model.canonical_correlations_
    lines.append(f"{'correlation':28}" + "".join(f"{value:10.4f}" for value in rho))
    lines.append("loadings: correlations of a feature with the variate of its own block")
    for names, loadings in (
        (("below 15", "above 75"), model.x_loadings_),
        (("savings", "income", "growth"), model.y_loadings_),
    ):
        for name, row in zip(names, loadings, strict=True):
            lines.append(f"  {name:26}" + "".join(f"{value:10.2f}" for value in row))
    lines.append("could all correlations be 0 from this pair on?")
    lines.append(f"  {'Wilks lambda':26}" + "".join(f"{value:10.4f}" for value in test.wilks))
    for name, p_value in (("F", test.f_p_value), ("Bartlett", test.bartlett_p_value)):
        lines.append(
            f"  {f'probability by {name}':26}" + "".join(f"{value:10.2g}" for value in p_value)
        )
    return lines


def draw(model: CCA, path: str) -> None:
    """The first variate of savings over that of ages, a point a country."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "savings"  # the same picture, the same file
    names, X, Y = savings()
    ages, saving = (variates[:, 0] for variates in model.transform(X, Y))
    figure, axes = pyplot.subplots(figsize=(8, 6))
    axes.scatter(ages, saving, s=12)
    for name, x, y in zip(names, ages, saving, strict=True):
        axes.annotate(name, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7)
    rho = model.canonical_correlations_[0]
    axes.set(xlabel="first variate of ages", ylabel="first variate of savings, income and growth")
    axes.set_title(f"Canonical correlation {rho:.3f}")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if ".svg" in path else None)


def main() -> None:
    X, Y = savings()[1:]
    model = CCA(2).fit(X, Y)
    print("\n".join(report(model)))
    if len(sys.argv) > 1:
        draw(model, sys.argv[1])


if __name__ == "__main__":
    main()
