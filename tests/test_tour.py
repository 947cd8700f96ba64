"""The tour as users start it: its own process, its table, its exit codes."""

import os
import signal
import subprocess
import sys

import pytest

import mlcore

COMMAND = [sys.executable, "-m", "mlcore"]


def run(*arguments, **environment):
    """Run the tour outside the source tree, which would shadow the installed package."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=os.sep,
        env=os.environ | environment,
        capture_output=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def shown():
    done = run(PYTHONIOENCODING="utf-8")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode("utf-8")


def test_fits_a_terminal_and_carries_no_colour_codes_into_a_pipe(shown):
    text = shown
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text


def test_every_machine_is_accurate_and_near_its_optimum(shown):
    lines = shown.splitlines()
    header = next(line for line in lines if line.lstrip().startswith("machine"))
    start = lines.index(header) + 2
    rows = lines[start : lines.index("", start)]
    assert len(rows) >= 6
    for row in rows:
        assert len(row) == len(header), "columns are aligned"
        vectors, gap, relative, violation = row[47:].split()[:4]
        assert int(vectors) > 0
        assert float(gap) >= 0
        assert float(relative) < 1e-2
        assert float(violation) <= 1e-3
    accuracies = [float(row.split("%")[0].split()[-1]) for row in rows if "named right" in row]
    assert len(accuracies) >= 4 and min(accuracies) > 90


def test_clusters_are_exact_and_mostly_of_one_digit(shown):
    def value(what):
        return next(line.split()[-1] for line in shown.splitlines() if what in line)

    assert value("inertia: squared") == value("the same by its definition")
    assert float(value("commonest digit").rstrip("%")) > 70
    assert value("inertia in feature space") == value("tr(G'KG)")


def test_no_cut_is_below_its_bound(shown):
    lines = [line for line in shown.splitlines() if "normalized cut" in line or "at least" in line]
    cut, bound = (float(line.split()[-1]) for line in lines)
    assert bound <= cut < 1.5 * bound


def test_the_tree_of_merges_is_as_high_as_its_definition_says(shown):
    lines = shown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("AgglomerativeClustering"))
    height, definition = (line.split()[-1] for line in lines[start + 2 : start + 4])
    assert height == definition
    assert float(lines[start + 4].split()[-1].rstrip("%")) > 70


def test_the_mixture_climbs_and_knows_images_from_noise(shown):
    lines = shown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Mixture of Gaussians"))
    seen, held_out, noise, gain = (float(line.split()[-1]) for line in lines[start + 2 : start + 6])
    assert seen > held_out > noise
    assert gain > 0


def values(shown, heading, n):
    lines = shown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(heading)) + 1
    return [line[72:].strip() for line in lines[start : start + n]]


def test_the_projections_explain_what_their_bounds_allow(shown):
    _, share, bounds, angle, held_out, _, rho, again = values(shown, "PCA, CCA", 8)
    least, most = map(float, bounds.split(" to "))
    assert least <= float(share) <= most
    assert 0.5 < float(held_out) < float(share)
    assert float(angle) < 1e-6
    assert 0.9 < float(again) < 1 and 0.9 < float(rho) < 1


def test_the_kernel_components_leave_more_of_noise(shown):
    _, residual, own, noise = values(shown, "KernelPCA", 4)
    assert float(residual) < 1e-5
    assert float(own) < 0.5 < float(noise) <= 1


def test_strings_and_sets_name_digits(shown):
    by_strings, by_points, likeness = values(shown, "Strings and sets", 3)
    assert 65 < float(by_strings.rstrip("%")) < float(by_points.rstrip("%"))
    assert likeness == "0.439"  # 0.4389 in print


def test_the_classifiers_by_probabilities_name_digits(shown):
    rates = values(shown, "Probabilities of classes", 8)[1::2]
    assert all(float(rate.rstrip("%")) > 80 for rate in rates)


def test_the_ridge_regression_is_as_exact_as_it_says(shown):
    _, gap, bound, error, r2 = values(shown, "KernelRidge", 5)
    assert float(gap) < 1e-10 and float(bound) < 1e-6
    assert float(error) < 0.3 and float(r2) > 0.7


def test_decisions_by_costs_are_cheaper(shown):
    plain, careful, asked, right, _, share, gap = values(shown, "Decisions", 7)
    assert int(careful) < int(plain)
    assert 0 < float(asked.rstrip("%")) < 30 and float(right.rstrip("%")) > 93
    assert float(share.rstrip("%")) > 30 and float(gap) < 1e-9


def test_learners_of_rounds_keep_to_their_bounds(shown):
    mistakes, most, error, right, regret, bound, inside, box = values(shown, "Rounds", 8)
    assert 0 < int(mistakes) <= int(most)
    assert float(right.rstrip("%")) > 90 and 0 < float(error) < 1
    assert float(regret) <= float(bound)
    assert int(inside) >= 0 and 0 < float(box) <= 1


def test_the_certificate_is_what_its_errors_allow(shown):
    lines = shown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("certify"))
    words = [line.split()[-1] for line in lines[start + 1 : start + 11]]
    k, m = int(words[0]), int(lines[start + 1].split("errors on ")[1].split()[0])
    binomial, chernoff, hoeffding, lower = map(float, words[1:5])
    exact = mlcore.bounds.binomial_tail_inversion(k, m, 0.05)
    assert exact <= binomial < exact + 1.001e-5
    assert lower < k / m < binomial < chernoff < hoeffding
    assert int(words[5]) > int(words[6]) > 0
    tested, *learned = map(float, words[7:10])
    assert tested < min(learned)


@pytest.fixture(scope="module")
def plain():
    """What a second run shows on a terminal without UTF-8."""
    done = run(PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    return done.stdout.decode("ascii")


def test_two_runs_differ_in_nothing_but_times_and_characters(shown, plain):
    def without_times(text):
        return [
            [w for w in line.split() if not w.replace(".", "").isdigit() and w not in ("s", "ms")]
            for line in text.splitlines()
        ]

    assert without_times(plain) == without_times(shown.translate(str.maketrans("─×²", "-x2")))


def test_a_terminal_without_utf_8_gets_plain_characters_in_the_same_columns(shown, plain):
    assert "----" in plain
    assert [len(row) for row in plain.splitlines() if "SVC" in row] == [
        len(row) for row in shown.splitlines() if "SVC" in row
    ]


def test_help_and_version():
    helped = run("--help")
    assert helped.returncode == 0 and b"usage: mlcore" in helped.stdout
    version = run("--version")
    assert version.returncode == 0
    assert version.stdout.decode().strip() == f"mlcore {mlcore.__version__}"


def test_wrong_usage_exits_with_2():
    done = run("--no-such-option")
    assert done.returncode == 2
    assert done.stdout == b"" and b"--no-such-option" in done.stderr


def test_a_failure_is_one_line_and_exit_code_1(monkeypatch, capsys):
    from mlcore import __main__ as tour

    def broken(digits):
        """A section that fails"""
        raise ValueError("one reason\non two lines")
        yield

    monkeypatch.setattr(tour, "SECTIONS", (broken,))
    assert tour.main([]) == 1
    assert capsys.readouterr().err == "mlcore: ValueError: one reason on two lines\n"


def test_a_new_section_is_one_function(monkeypatch, capsys):
    from mlcore import __main__ as tour

    def bounds(digits):
        """Bounds: what may be promised"""
        yield f"  {len(digits.X)} images"

    monkeypatch.setattr(tour, "SECTIONS", (bounds,))
    assert tour.main([]) == 0
    assert "\nBounds: what may be promised\n  1200 images\n" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_stops_with_130_and_no_traceback():
    with subprocess.Popen(
        COMMAND, cwd=os.sep, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()  # the first line stands: the work has begun
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert error == b"mlcore: interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX pipe")
def test_a_reader_that_leaves_is_not_a_failure_with_a_traceback():
    with subprocess.Popen(
        COMMAND, cwd=os.sep, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()
        assert process.wait(timeout=60) == 141
    assert error == b""


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("environment", "bold"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_bold_headings_only_on_a_terminal_that_wants_them(environment, bold):
    import pty

    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        COMMAND, cwd=os.sep, stdout=theirs, env=env | {"TERM": "xterm"} | environment
    ) as process:
        os.close(theirs)
        first = os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    os.close(ours)
    assert (b"\x1b[1m" in first) is bold
