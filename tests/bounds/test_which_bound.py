"""The page on choosing a bound says what is true, and its picture shows what it claims."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

from mlcore import bounds

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "which_bound.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_examples_of_the_page_print_what_the_page_shows():
    for example, text in zip(blocks("python"), blocks("text"), strict=True):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(example, {"__name__": "__main__"})
        assert shown.getvalue() == text


def test_every_function_that_the_page_names_exists():
    names = set(re.findall(r"`(\w+_\w+)`", PAGE))
    assert names <= set(bounds.__all__), names - set(bounds.__all__)
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target


def test_the_example_prints_what_the_page_shows_and_says_of_it(capsys, monkeypatch):
    path = ROOT / "examples" / "bound_against_sample_size.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    table = example.bounds_of_all_families()
    for values in table.values():
        assert all(
            0.03 <= later <= sooner for sooner, later in zip(values, values[1:], strict=False)
        )
        assert all(a <= b for a, b in zip(table["test: binomial"], values, strict=True))
    thousand = example.SIZES.index(1000)
    assert round(table["test: binomial"][thousand], 2) == 0.04
    assert round(table["train: VC, d = 10"][thousand], 2) == 0.32
    # More than a hundred thousand used ones are worth a thousand fresh ones.
    assert table["train: VC, d = 10"][example.SIZES.index(100_000)] > 0.0405
    monkeypatch.setattr("sys.argv", [path.name])
    example.main()
    assert f"```\n{capsys.readouterr().out}```" in PAGE
