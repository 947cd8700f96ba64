"""Type checkers find nothing wrong with what users write and what the documents show."""

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import mlcore

ROOT = Path(__file__).resolve().parents[1]
TYPICAL = ROOT / "tests" / "typing" / "typical_use.py"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDES = [ROOT / "docs" / f"{name}.md" for name in ("start", "missing_values", "metrics")]
GUIDES += [ROOT / "docs" / f"coming_from_{name}.md" for name in ("glmnet_and_liblinear", "pot")]
GUIDES += sorted((ROOT / "docs" / "guides").glob("*.md"))
MISTAKES = {
    "mlcore.svn": "no attribute",
    "mlcore.save(3, 'x')": "incompatible type",
    "SVC(c=1.0)": "Unexpected keyword",
    "SVC().fit([[0.0], [1.0]], [0, 1]).duality_gap": "no attribute",
    "mlcore.decomposition.PCA().fit([[0.0], [1.0]]).component": "no attribute",
    "mlcore.kernel_ridge.KernelRidge().predict([[0.0]]).component": "no attribute",
    "mlcore.bounds.binomial_tail_inversion(1, 9, 0.1).shape": "no attribute",
    "SVC(kernel='rbff')": "incompatible type",
    "SVC(gamma='scaled')": "incompatible type",
    "mlcore.cluster.KMeans(init='kmeans')": "incompatible type",
    "mlcore.cluster.AgglomerativeClustering(linkage='wards')": "incompatible type",
    "mlcore.cluster.KMedoids(metric='euclid')": "incompatible type",
    "mlcore.decomposition.PCA(svd_solver='x')": "incompatible type",
    "mlcore.kernel_ridge.KernelRidge(alpha='cv')": "incompatible type",
    "mlcore.mixture.GaussianMixture(covariance_type='ful')": "incompatible type",
}
# SciPy comes without types; what mlcore's own sources say among themselves is not asked.
OPTIONS = """[mypy]
strict = True
follow_imports = silent
disable_error_code = import-untyped
untyped_calls_exclude = dask, distributed
[mypy-matplotlib.*]
follow_imports = skip
ignore_missing_imports = True
[mypy-dask.*,distributed.*]
follow_imports = skip
"""
UNTYPED = """
[mypy-{name}]
disallow_untyped_defs = False
disallow_untyped_calls = False
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What mypy finds, by the file's name; in one run, since most of its time goes in NumPy."""
    folder = tmp_path_factory.mktemp("snippets")
    imports = "import mlcore.decomposition; from mlcore.svm import SVC"
    snippets = {"mistakes": "\n".join([imports, *MISTAKES])}
    for page in set(PAGES) - set(GUIDES):
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        snippets |= {f"{page.stem}_{number}": block for number, block in enumerate(blocks)}
    for page in GUIDES:  # whose blocks follow on each other
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        snippets[f"guide_{page.stem}"] = "\n".join(blocks)
    for name, text in snippets.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    names = [path.stem for path in EXAMPLES]
    options = folder / "mypy.ini"
    options.write_text(OPTIONS + "".join(UNTYPED.format(name=name) for name in names), "utf-8")
    files = [TYPICAL, *EXAMPLES, *folder.glob("*.py")]
    environment = dict(os.environ)
    package = Path(mlcore.__file__).resolve().parents[1]
    if package.name != "site-packages":  # an editable install's hook, which mypy cannot follow
        environment["MYPYPATH"] = str(package)
    # In a process of its own: here its millions of objects would stay for all later tests.
    report = subprocess.run(
        [sys.executable, "-m", "mypy", f"--config-file={options}", f"--cache-dir={os.devnull}"]
        + [str(path) for path in files],
        env=environment, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert not report.stderr
    lines = {path.stem: [] for path in files}
    for path, line, message in re.findall(r"^(.*\.py):(\d+): error: (.*)$", report.stdout, re.M):
        lines[Path(path).stem].append((int(line), message))
    return lines


def test_typical_use_the_examples_and_the_documents_are_typed(found):
    assert len(found) > 10
    assert not {name: lines for name, lines in found.items() if lines and name != "mistakes"}


def test_mistakes_are_found(found):
    assert [line for line, _ in found["mistakes"]] == [*range(2, 2 + len(MISTAKES))]
    for (_, message), expected in zip(found["mistakes"], MISTAKES.values(), strict=True):
        assert expected in message


def test_typical_use_runs(tmp_path, capsys):
    runpy.run_path(str(TYPICAL))["main"](tmp_path)
    assert len(capsys.readouterr().out.splitlines()) > 20


def test_completion_sees_the_functions_of_the_package():
    """It leaves out a branch whose condition is a constant."""
    source = Path(mlcore.__file__).read_text(encoding="utf-8")
    (value,) = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TYPE_CHECKING"
    ]
    assert not isinstance(value, ast.Constant)
    assert not hasattr(mlcore, "TYPE_CHECKING") and {"load", "save"} <= set(dir(mlcore))
