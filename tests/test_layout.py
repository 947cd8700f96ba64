"""Every file is where its word says, is installed, imports only what lies below it."""

import ast
import functools
import graphlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from each import each

import mlcore
from mlcore.estimator.mixins import Classifier, Clusterer, Regressor, Transformer
from mlcore.estimator.model import Model
from mlcore.svm import SVC

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "mlcore"
SOURCES = sorted(PACKAGE.rglob("*.py"))
DATA = [*PACKAGE.rglob("*.npz"), *PACKAGE.rglob("py.typed")]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCES
]
LOOPS = PACKAGE / "_ext"
EXTENSIONS = sorted(
    path.relative_to(LOOPS).with_suffix("").as_posix() for path in LOOPS.rglob("*.pyx")
)


@functools.cache
def parsed(path):
    """The tree of a Python file of this package, which no test changes."""
    return ast.parse(path.read_text(encoding="utf-8"))


def listed_in_meson():
    files = set()
    families = re.findall(
        r"^  '([\w/]*)': \[(.*?)\]", (PACKAGE / "meson.build").read_text(), re.DOTALL | re.MULTILINE
    )
    for family, names in families:
        files |= {PACKAGE / family / name for name in re.findall(r"'([^']+)'", names)}
    return files | {path for path in SOURCES if path.is_relative_to(LOOPS)}


def test_meson_lists_exactly_the_sources_there_are():
    assert listed_in_meson() == {*SOURCES, *DATA}


def loops_of_extensions():
    """For each extension, the loops in C that meson links with it."""
    build = (LOOPS / "meson.build").read_text()
    listed = re.search(r"^extensions = {\n(.*?)^}", build, re.DOTALL | re.MULTILINE)[1]
    return {
        f"{folder}/{name}": re.findall(r"'([\w/]+)'", loops)
        for folder, words in re.findall(r"'([\w/]+)': {(.*?)}", listed, re.DOTALL)
        for name, loops in re.findall(r"'(\w+)': \[(.*?)\]", words, re.DOTALL)
    }


def test_meson_lists_every_extension():
    assert sorted(loops_of_extensions()) == EXTENSIONS


def test_a_change_of_any_declaration_translates_again():
    """Meson lists each .pxd, and each header that one is made from."""
    build = (LOOPS / "meson.build").read_text()
    listed = {*re.findall(r"'([\w/]+/\w+\.(?:pxd|h))'", build)}
    listed |= {f"{loop}.h" for loops in loops_of_extensions().values() for loop in loops}
    used = {path.relative_to(LOOPS).as_posix() for path in PACKAGE.rglob("*.pxd")}
    for path in [*PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxd")]:
        for folder, name in re.findall(r"mlcore\._ext\.([\w.]+)\.(\w+)_h c", path.read_text()):
            used.add(f"{folder.replace('.', '/')}/{name}.h")
    assert listed == used


def test_loops_bear_the_word_of_their_only_caller():
    callers = {}
    for name, loops in loops_of_extensions().items():
        for loop in loops:
            callers.setdefault(loop, []).append(name)
    other = {loop: names for loop, names in callers.items() if len(names) == 1 and [loop] != names}
    assert not other


def cimported(path):
    """The modules of _ext that a Cython file cimports, itself or through others' .pxd files."""
    found = set()
    sources = [path, path.with_suffix(".pxd")]
    for source in sources:
        if source.exists():
            text = source.read_text()
            names = set(re.findall(r"^from mlcore\._ext\.([\w.]+) cimport", text, re.MULTILINE))
            pairs = re.findall(r"^from mlcore\._ext\.([\w.]+) cimport (\w+)", text, re.MULTILINE)
            names |= {f"{folder}.{name}" for folder, name in pairs}
            new = names - found
            sources += [LOOPS / f"{name.replace('.', '/')}.pxd" for name in new]
            found |= new
    return found


def test_extensions_link_no_loops_that_they_do_not_call():
    # Loops that are called and not linked are an error when the extension is loaded.
    for name, loops in loops_of_extensions().items():
        called = cimported(LOOPS / f"{name}.pyx")
        assert {f"{loop.replace('/', '.')}_h" for loop in loops} <= called, name


@each("word", EXTENSIONS)
def test_every_extension_has_a_module_or_a_folder_of_its_word(word):
    """`_ext/<family>/<word>.pyx` serves `<family>/.../<word>`, and no other family."""
    folder, _, word = word.rpartition("/")
    inside = f"mlcore.{folder.replace('/', '.')}."
    modules = [name for name in MODULES if name.startswith(inside) and word in name.split(".")]
    assert modules, f"no {word}.py beside {word}.pyx"


# Extensions that a module of another word may import: loops that two subjects share.
SHARED_EXTENSIONS = {
    ("mlcore.checks.sparse", "arrays"),
    ("mlcore.svm.smo.problem", "small_problem"),
}


def test_extensions_are_imported_by_the_module_or_the_folder_of_their_word():
    for module, target, _ in imports_of_mlcore():
        if "._ext." in target and module != "mlcore" and not module.startswith("mlcore._ext"):
            family, *_, word = target.removeprefix("mlcore._ext.").split(".")
            own = module.split(".")[1] == family and word in module.split(".")
            assert own or (module, word) in SHARED_EXTENSIONS


def test_words_say_something():
    words = [path.stem for path in SOURCES if not path.stem.startswith("__")]
    assert not {"utils", "util", "helpers", "common", "base", "misc"} & set(words)


def test_folders_are_short():
    """As many names as a reader takes in at once."""
    long = {}
    for folder in {path.parent for path in SOURCES if not path.is_relative_to(LOOPS)}:
        names = {p for p in SOURCES if p.parent == folder and not p.stem.startswith("__")}
        names |= {path.parent for path in SOURCES if path.parent.parent == folder}
        if len(names) > (28 if folder == PACKAGE else 14):
            long[folder.name] = len(names)
    assert not long
    entries = [path for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 32  # the root is a table of contents: shelves, families and the door
    for folder in {path.parent for path in LOOPS.rglob("*") if path.suffix != ".pyc"}:
        assert len([path for path in folder.iterdir() if path.name != "__pycache__"]) <= 30


def lines_of_code(path):
    """Lines of a Python module that are in no docstring."""
    text = path.read_text(encoding="utf-8")
    count = len(text.splitlines())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(parsed(path)):
        if isinstance(node, documented) and ast.get_docstring(node):
            count -= node.body[0].end_lineno - node.body[0].lineno + 1
    return count


def test_modules_are_short():
    """Docstrings are not counted: a page that explains much is no long module."""
    files = [p for p in SOURCES if len(p.read_text(encoding="utf-8").splitlines()) > 600]
    long = {p.name: n for p in files if (n := lines_of_code(p)) > 600}
    kernels = LOOPS.rglob("*.pyx")
    long |= {p.name: n for p in kernels if (n := len(p.read_text().splitlines())) > 300}
    assert not long


def test_compiled_functions_take_their_arguments_by_position():
    """The code that reads names would be a tenth of an extension."""
    found = {
        f"{path.stem}.{name}": arguments.rstrip().endswith("/")
        for path in LOOPS.rglob("*.pyx")
        for name, arguments in re.findall(r"^def (\w+)\(([^)]+)\):", path.read_text(), re.MULTILINE)
    }
    assert len(found) > 100
    assert not [name for name, positional in found.items() if not positional]


# From the bottom up: a part of mlcore imports itself and parts of lower rows, no other of its row.
LAYERS = (
    ("_ext",),
    ("runtime",),
    ("checks",),
    ("estimator", "numerics"),
    ("row_sums",),
    ("datasets", "kernels"),
    ("decomposition",),
    ("bounds", "cluster", "discriminant", "kernel_ridge", "svm"),
    ("mixture",),
    ("calibration", "conformal", "entropy", "naive_bayes", "online", "pac"),
    ("linear_model",),
    ("bayes", "blocks", "plot"),
    ("acceleration", "tour"),
    ("__main__", "accelerate"),
)
LAYER = {part: number for number, row in enumerate(LAYERS) for part in row}
LEAVES = (ast.Name, ast.expr_context, ast.operator, ast.cmpop)  # trees without imports or strings
CYTHON_IMPORT = re.compile(r"^ *(?:from +([\w.]+) +)?c?import +(.+)", re.MULTILINE)


def modules(package):
    """Python and Cython modules by dotted name, each with its files."""
    found = {}
    for path in sorted(package.rglob("*.p*")):
        if path.suffix in (".py", ".pyx", ".pxd"):
            words = path.relative_to(package.parent).with_suffix("").parts
            found.setdefault(".".join(words).removesuffix(".__init__"), []).append(path)
    return found


def is_tree(value):
    return isinstance(value, ast.AST) and not isinstance(value, LEAVES)


def python_imports(path, module):
    """Pairs of an imported name and whether it is imported when code runs, not for types alone.

    A module that a string names counts as imported: `importlib` may load it.
    """
    here = module if path.stem == "__init__" else module.rpartition(".")[0]

    nodes = [(parsed(path), True)]
    while nodes:
        node, at_once = nodes.pop()
        if isinstance(node, ast.Constant) and re.fullmatch(r"mlcore(\.\w+)+", str(node.value)):
            yield node.value, at_once
        elif isinstance(node, ast.ImportFrom):
            above = here.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(filter(None, (above, node.module)))
            yield from ((f"{source}.{alias.name}", at_once) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}", at_once  # mlcore.svm is loaded by its name alone
        typed = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for value in vars(node).values():  # as ast.iter_child_nodes, in half of its time
            children = value if isinstance(value, list) else (value,)
            nodes += [(child, at_once and not typed) for child in children if is_tree(child)]


def cython_imports(path):
    for source, names in CYTHON_IMPORT.findall(path.read_text(encoding="utf-8")):
        for name in re.findall(r"[\w.]+", names):
            yield f"{source}.{name}" if source else name, True


@functools.cache
def imports_of_mlcore():
    return imports(PACKAGE)


def imports(package):
    """Triples (module, module of the package that it imports, whether when code runs)."""
    known, found = modules(package), []
    for module, paths in known.items():
        for path in paths:
            pairs = python_imports(path, module) if path.suffix == ".py" else cython_imports(path)
            for name, at_once in pairs:
                while name and name not in known:  # a name in a module, or something else
                    name = name.rpartition(".")[0]
                if name:
                    found.append((module, name, at_once))
    return found


def upward_imports(edges):
    """Imports of what lies above the importing module, or beside it in another part."""
    found = []
    for module, target, _ in edges:
        part, other = ((name.split(".") + [""])[1] for name in (module, target))
        if part and other and part != other and LAYER[other] >= LAYER[part]:
            found.append(f"{module} imports {target}")
    return found


def circle(edges):
    """Modules that import each other in a circle, none if there is no such circle.

    To import a module is to import the packages around it, where the importing one is not inside.
    """
    graph = {}
    for module, target, at_once in edges:
        if module == "mlcore":  # the door, which loads families on first use
            continue
        words = target.split(".")
        around = {".".join(words[:n]) for n in range(1, len(words))}
        around = {name for name in around if not f"{module}.".startswith(f"{name}.")}
        graph.setdefault(module, set()).update({target} | around if at_once else ())
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_every_part_has_its_layer():
    parts = {name.split(".")[1] for name in modules(PACKAGE) if "." in name}
    assert parts == set(LAYER), "a new part of mlcore stands in LAYERS, above all that it imports"


def test_the_page_for_contributors_has_the_same_table():
    page = (ROOT / "docs" / "how_it_works.md").read_text(encoding="utf-8")
    table = page.partition("| layer, from the bottom up |")[2].partition("\n\n")[0]
    first_cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert tuple(tuple(re.findall(r"`(\w+)`", cell)) for cell in first_cells) == LAYERS
    named = re.findall(r"`(mlcore/[\w/]+(?:\.\w+)?)`", page)
    assert len(named) > 20
    assert not [name for name in named if not (ROOT / name).exists()]


def test_imports_go_downwards_and_not_in_circles():
    edges = imports_of_mlcore()
    assert len(set(edges)) > 300
    assert not upward_imports(edges)
    assert not circle(edges)


def edges_of(folder, files):
    """Imports in a package mlcore of the given files."""
    for name, text in files.items():
        path = folder / "mlcore" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return imports(folder / "mlcore")


PARTS = {f"{part}/__init__.py": "" for part in LAYER if part != "__main__"}
PARTS |= {"__init__.py": "", "estimator/model.py": "", "svm/smo.py": "", "mixture/em.py": ""}
PARTS |= {"runtime/threads.py": ""}


@pytest.mark.parametrize(
    ("name", "text", "target"),
    [
        ("_ext/gram.pyx", "from mlcore.kernels cimport gram", "kernels"),
        ("_ext/gram.pxd", "cimport mlcore.checks", "checks"),
        ("_ext/gram.pyx", "from mlcore import runtime, checks", "runtime"),
        ("_ext/gram.py", "import mlcore.checks as e", "checks"),
        ("bounds/vc.py", "from mlcore.svm import SVC", "svm"),
        ("bounds/vc.py", "def f():\n    import mlcore.mixture.em", "mixture.em"),
        ("bounds/vc.py", "from mlcore import cluster", "cluster"),
        ("bounds/vc.py", "def f():\n    return import_module('mlcore.cluster')", "cluster"),
        ("bounds/vc.py", "import mlcore\nkind = mlcore.online.Halving", "online"),
        ("bounds/certificates/certify.py", "from mlcore.online import Halving", "online"),
        ("checks/samples.py", "from mlcore.estimator import model", "estimator.model"),
        ("runtime/scratch.py", "from ..checks import as_samples", "checks"),
        ("runtime/threads.py", "from mlcore import checks", "checks"),
        ("numerics/scatter.py", "from mlcore.estimator import model", "estimator.model"),
        (
            "estimator/model.py",
            "if TYPE_CHECKING:\n    from mlcore.kernels import Kernel",
            "kernels",
        ),
        ("kernels/gram.py", "from mlcore.svm.smo import solve", "svm.smo"),
        ("cluster/lloyd.py", "from mlcore.mixture.em import Mixture", "mixture.em"),
        ("cluster/starts.py", "from ..mixture import PLSA", "mixture"),
        ("svm/svc.py", "from mlcore.bounds import certify", "bounds"),
    ],
)
def test_an_import_upwards_is_found(name, text, target, tmp_path):
    (found, *_) = upward_imports(edges_of(tmp_path, PARTS | {name: text}))
    assert found == f"mlcore.{name.split('.')[0].replace('/', '.')} imports mlcore.{target}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_ext/gram.pyx", "from mlcore._ext.shared cimport table\nimport numpy"),
        ("online/halving.py", "from mlcore.bounds import vc\nfrom mlcore import estimator"),
        ("cluster/spectral.py", "from .k_means import KMeans\nfrom mlcore import numerics"),
        ("estimator/model.py", "import mlcore\nversion = mlcore.__version__"),
        ("__init__.py", "from mlcore.svm import SVC"),
    ],
)
def test_imports_downwards_are_fine(name, text, tmp_path):
    assert not upward_imports(edges_of(tmp_path, PARTS | {name: text}))


def test_a_circle_is_found_whichever_way_it_is_closed(tmp_path):
    by_name = {"svm/__init__.py": "from mlcore.svm.svc import SVC"}
    by_name |= {"svm/svc.py": "class SVC: ...\nfrom mlcore.svm import SVR"}
    assert set(circle(edges_of(tmp_path / "name", by_name))) == {"mlcore.svm", "mlcore.svm.svc"}

    pair = {"svm/__init__.py": "", "svm/svc.py": "from mlcore.svm import smo"}
    for number, back in enumerate(("import mlcore.svm.svc", "from .svc import SVC")):
        found = circle(edges_of(tmp_path / str(number), pair | {"svm/smo.py": back}))
        assert set(found) == {"mlcore.svm.smo", "mlcore.svm.svc"}
    for number, hidden in enumerate(
        ("def f():\n    from .svc import SVC", "load = lambda: import_module('mlcore.svm.svc')")
    ):
        found = circle(edges_of(tmp_path / f"hidden{number}", pair | {"svm/smo.py": hidden}))
        assert set(found) == {"mlcore.svm.smo", "mlcore.svm.svc"}
    typed = "if TYPE_CHECKING:\n    import mlcore.svm.svc"
    assert not circle(edges_of(tmp_path / "typed", pair | {"svm/smo.py": typed}))


SHELVES = ("_ext", "runtime", "checks", "estimator", "numerics", "row_sums")


def public_classes(package):
    """Names of the classes that the families list for their users."""
    names = set()
    for path in package.glob("*/__init__.py"):
        if path.parent.name not in SHELVES:
            listed = re.search(r"__all__ = \[(.*?)\]", path.read_text(), re.DOTALL)
            names |= set(re.findall(r'"([A-Z]\w+)"', listed[1] if listed else ""))
    return names


def named_families(package):
    """Strings in the code of the shelves that name a class of a family, or a family itself."""
    classes, found = public_classes(package), []
    families = "|".join(part for part in LAYER if part not in SHELVES)
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0].removesuffix(".py") in SHELVES:
            tree = parsed(path)
            documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
            bodies = [node.body[:1] for node in ast.walk(tree) if isinstance(node, documented)]
            first = [node for body in bodies for node in body if isinstance(node, ast.Expr)]
            docstrings = {id(node.value) for node in first}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    words = set(re.findall(r"\w+", node.value)) & classes
                    family = re.search(rf"\bmlcore\.({families})\b", node.value)
                    if id(node) not in docstrings and (words or family):
                        found.append(f"{path.relative_to(package)}:{node.lineno} {node.value!r}")
    return found


def test_shelves_name_no_family():
    """What a class needs to be said of it stands on the class."""
    assert not named_families(PACKAGE)


@pytest.mark.parametrize("text", ['WORDS = {"SVC": "no"}', 'def f():\n    return "mlcore.svm"'])
def test_a_shelf_that_names_a_family_is_found(text, tmp_path):
    files = {"svm/__init__.py": '__all__ = ["SVC"]', "estimator/words.py": text, "pac/a.py": text}
    edges_of(tmp_path, PARTS | files)
    (found,) = named_families(tmp_path / "mlcore")
    assert found.startswith("estimator/words.py")


# Classes that have one heir in mlcore and are right so: contracts for users' or later classes.
HONEST = {
    "ElasticNet", "ElasticNetCV", "GramRows", "Halving", "Inference", "Objective", "OneClassSVM",
}  # fmt: skip


def heirs(package):
    """For each class of the package by name, the classes that inherit from it directly."""
    bases = []
    for path in package.rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                words = (re.match(r"(?!sklearn\.)[\w.]+", ast.unparse(base)) for base in node.bases)
                bases.append((node.name, [word[0].rpartition(".")[2] for word in words if word]))
    found = {name: [] for name, _ in bases}
    for name, above in bases:
        for base in set(above) & set(found):
            found[base].append(name)
    return found


def test_no_class_is_written_for_one_heir():
    """A part of a class is a function that takes the model, or an object that it holds."""
    single = {name for name, below in heirs(PACKAGE).items() if len(below) == 1}
    assert single == HONEST and len(HONEST) <= 7


@pytest.mark.parametrize("base", ["Part", "part.Part", "Part[int]"])
def test_a_class_with_one_heir_is_found(base, tmp_path):
    text = "class Part: ...\nclass Alone: ...\nclass Both(NamedTuple): ...\n"
    kin = "class One(Both): ...\nclass Other(Both): ...\n"
    files = {"svm/part.py": text, "svm/svc.py": f"def f():\n    class SVC({base}): ...\n{kin}"}
    edges_of(tmp_path, PARTS | files)
    found = {name: below for name, below in heirs(tmp_path / "mlcore").items() if below}
    assert found == {"Part": ["SVC"], "Both": ["One", "Other"]}


ROLES = (Classifier, Regressor, Clusterer, Transformer)


def depth(model):
    """Classes of mlcore that a model inherits from, itself among them."""
    return sum(base.__module__.partition(".")[0] == "mlcore" for base in model.__mro__)


def is_too_deep(model):
    """At most 7 classes, 6 for the kin of SVC, and one more for each role beyond the first."""
    limit = 6 if model.__module__.startswith("mlcore.svm.") else 7
    return depth(model) > limit + max(0, sum(issubclass(model, role) for role in ROLES) - 1)


def test_no_public_model_is_a_tower():
    listed = [getattr(mlcore, family) for family in mlcore.__all__ if family in LAYER]
    public = {getattr(module, name) for module in listed for name in getattr(module, "__all__", ())}
    models = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Model)}
    assert len(models) > 50 and depth(Model) == 1
    assert not [model.__name__ for model in models if is_too_deep(model)]


def test_a_tower_is_found():
    def above(model, name="mlcore.svm.svc"):
        return type("Part", (model,), {"__module__": name})

    tall = above(above(SVC))  # SVC has 6 classes
    assert depth(tall) == 8 and is_too_deep(tall) and is_too_deep(above(SVC)) > is_too_deep(SVC)
    elsewhere = above(SVC, "mlcore.online.part")
    assert not is_too_deep(elsewhere) and is_too_deep(above(elsewhere, "mlcore.online.part"))
    assert depth(above(SVC, "mine")) == depth(SVC)  # a user's class


# They derive from scikit-learn's classes, and `mlcore.accelerate()` alone imports them.
DERIVED = {
    f"mlcore.acceleration.{name}"
    for name in (
        "cluster", "discriminant_analysis", "kernel_ridge", "mixture", "naive_bayes",
        "replacement", "svm",
    )
}  # fmt: skip
FIRST_USE = """
import mlcore, sys
assert not {"mlcore.svm", "mlcore.kernels", "numpy"} & set(sys.modules)
assert {"svm", "kernels", "datasets", "save", "load"} <= set(dir(mlcore))
assert mlcore.svm.SVC.__module__.startswith("mlcore.svm")
assert mlcore.save.__module__ == mlcore.load.__module__ == "mlcore.estimator.persistence"
import mlcore.blocks
optional = {"dask", "distributed", "zarr", "h5py", "pyarrow", "pandas", "joblib"}
assert not optional & set(sys.modules)
"""
IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
banned = {"sklearn", "pandas", "polars", "matplotlib", "IPython"}
loaded = {name.partition(".")[0] for name in sys.modules} & banned
assert not loaded, f"imported: {loaded}"
"""


def test_families_load_on_first_use_and_every_module_without_scikit_learn(tmp_path):
    """One interpreter imports all: it finds names that are not there, which the graph does not.

    Since there are no circles, the order in which modules come does not matter.
    """
    names = [name for name in MODULES if name not in DERIVED | {"mlcore.accelerate"}]
    names += [f"mlcore._ext.{name.replace('/', '.')}" for name in EXTENSIONS]
    program = FIRST_USE + IMPORT_ALL
    subprocess.run([sys.executable, "-c", program, *names], check=True, cwd=tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'svn'"):
        mlcore.svn  # noqa: B018


def test_public_names_exist_and_are_all_that_completion_shows():
    families = (
        "bayes bounds calibration cluster conformal datasets decomposition discriminant entropy "
        "kernel_ridge kernels linear_model mixture naive_bayes online pac row_sums svm"
    )
    for family in families.split():
        module = getattr(mlcore, family)
        assert module.__all__ and all(hasattr(module, name) for name in module.__all__)
        assert dir(module) == sorted(module.__all__)
    assert dir(mlcore) == sorted(mlcore.__all__) and "svm" in dir(mlcore)


def test_an_unbuilt_source_tree_says_what_to_do(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "mlcore", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    shutil.copy(ROOT / "meson.build", tmp_path)
    # -S: no site-packages, where an editable install would answer instead of the tree.
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import mlcore"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    *_, last = done.stderr.strip().splitlines()
    assert last == (
        f"ImportError: mlcore is not built in its source tree {tmp_path.resolve()}: run "
        "`python -m pip install .` there, then start Python from another folder."
    )
    assert "During handling" not in done.stderr


def test_requirements_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    required = {re.match(r"[\w-]+", line)[0] for line in project["project"]["dependencies"]}
    assert required == {"numpy", "scipy", "threadpoolctl"}
    readme = (ROOT / "README.md").read_text()
    assert '-m pip install ".[test]"' in readme and "-m pip install . &&" in readme
