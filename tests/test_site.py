"""What the site says beside the code is complete and true, before it is built."""

import importlib.util
import inspect
import re
import tomllib
from pathlib import Path

import pytest
from each import each

import mlcore
from mlcore.estimator.model import Model

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FAMILIES = [name for name in mlcore.__all__ if inspect.ismodule(getattr(mlcore, name))]
TOPICS = tomllib.loads((DOCS / "topics.toml").read_text("utf-8"))
GUIDES = tomllib.loads((DOCS / "guides.toml").read_text("utf-8"))
MODELS = {
    name: kind
    for family in FAMILIES
    for name in getattr(mlcore, family).__all__
    if inspect.isclass(kind := getattr(getattr(mlcore, family), name)) and issubclass(kind, Model)
}


def rows_of_topics(family):
    for topic in TOPICS[family].values():
        if isinstance(topic, dict):
            yield from topic.items()


@each("family", [*FAMILIES, "mlcore"])
def test_the_index_has_every_public_name_once(family):
    module = mlcore if family == "mlcore" else getattr(mlcore, family)
    public = [name for name in module.__all__ if callable(getattr(module, name))]
    listed = [name for names, _ in rows_of_topics(family) for name in names.split(", ")]
    assert sorted(listed) == sorted(public)


def test_the_index_has_no_other_family_and_a_sentence_for_each_row():
    assert sorted(TOPICS) == sorted([*FAMILIES, "mlcore"])
    for family in TOPICS:
        for names, sentence in rows_of_topics(family):
            assert re.fullmatch(r"[A-Z].*\.", sentence), names


def test_pages_with_pictures_exist_and_so_do_their_examples():
    gallery = ROOT / "examples" / "gallery"
    for page, settings in GUIDES.items():
        assert (DOCS / f"{page}.md").exists(), page
        assert set(settings["families"]) <= set(FAMILIES), page
        picture = [settings["picture"]] if "picture" in settings else []
        assert not picture or settings["alt"], page
        for example in [*picture, *settings.get("examples", ())]:
            assert (gallery / f"{example}.py").exists(), f"{page}: no example {example}"


def test_pictures_within_pages_are_those_of_examples():
    found = re.compile(r"gallery/(\w+)/images/sphx_glr_(\w+)_\d{3}\.png")
    for page in DOCS.rglob("*.md"):
        for folder, name in found.findall(page.read_text("utf-8")):
            assert (ROOT / "examples" / "gallery" / folder / f"{name}.py").exists(), page


def test_every_guide_has_a_picture_and_every_family_a_guide():
    pages = {f"guides/{path.stem}" for path in (DOCS / "guides").glob("[!i]*.md")}
    assert pages <= {page for page, settings in GUIDES.items() if "picture" in settings}
    of_guides = {family for settings in GUIDES.values() for family in settings["families"]}
    assert of_guides == set(FAMILIES) - {"datasets"}


def tables(page):
    """Yield {header: cell} of each row of the tables of a page."""
    heads = None
    for line in (DOCS / page).read_text("utf-8").splitlines():
        if not line.startswith("|"):
            heads = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if heads is None:
            heads = cells
        elif set(line) - set("|- "):
            yield dict(zip(heads, cells, strict=True))


WHICH = [row for row in tables("which_model.md") if "model" in row]


@each("row", WHICH)
def test_the_map_of_models_says_of_each_what_is_true(row):
    kind = MODELS[row["model"].strip("`")]
    said = {head: cell == "yes" for head, cell in row.items() if cell in ("yes", "no")}
    true = {
        "sparse": kind().__sklearn_tags__().input_tags.sparse,
        "probabilities": hasattr(kind, "predict_proba"),
        "blocks": hasattr(kind, "partial_statistics"),
    }
    assert said == {head: true[head] for head in said}


def test_the_map_names_only_what_there_is():
    public = {name for family in FAMILIES for name in getattr(mlcore, family).__all__}
    for page in ("which_model.md", "metrics.md", "missing_values.md"):
        for row in tables(page):
            first = "use" if "use" in row else "model"
            for name in re.findall(r"`([A-Z]\w+)`", row[first]):
                others = {"StandardScaler", "OneHotEncoder", "SimpleImputer"}
                assert name in public | others | {"MultiOutputClassifier"}, (page, name)


def test_the_page_on_missing_values_lists_the_models_that_take_them():
    listed = {
        name for row in tables("missing_values.md") for name in re.findall(r"`(\w+)`", row["model"])
    }
    assert listed == {
        name for name, kind in MODELS.items() if "missing" in inspect.signature(kind).parameters
    }


@pytest.fixture(scope="module")
def reference():
    """docs/extensions/reference.py, which needs no Sphinx."""
    path = DOCS / "extensions" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_of_classes_list_the_methods_that_there_are(reference):
    pages = reference.contexts()
    assert "set_partial_fit_request" not in pages["mlcore.svm.SVC"]["methods"]
    for name, value in reference.public_names().items():
        assert all(hasattr(value, method) for method in pages[name]["methods"]), name
        if inspect.isclass(value) and issubclass(value, Model):
            own = [m for m in pages[name]["methods"] if not reference.SHARED.fullmatch(m)]
            assert pages[name]["methods"][: len(own)] == own, name
            assert "get_params" in pages[name]["methods"], name


def test_pages_of_models_have_guides_that_mention_them(reference):
    pages = reference.contexts()
    assert pages["mlcore.svm.SVC"]["guides"] == ["/guides/support_vector_machines"]
    assert pages["mlcore.cluster.KMedoids"]["guides"][0] == "/guides/k_means_and_medoids"
    without = {name for name, page in pages.items() if not page["guides"]}
    assert {name.split(".")[1] for name in without} == {"accelerate", "datasets", "load", "save"}
