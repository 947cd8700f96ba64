"""Kernels by name: classes, loops and pages have the same ones, and the same defaults."""

import inspect
import re
from pathlib import Path

import pytest

import mlcore
from mlcore._ext.kernels import packed
from mlcore.cluster import KernelKMeans
from mlcore.kernels import gram_matrix
from mlcore.kernels.vector_kernels import KERNELS
from mlcore.svm import SVC

PAGE = Path(__file__).resolve().parents[2] / "docs/guides/kernels.md"
FAMILIES = ("svm", "cluster", "decomposition", "kernel_ridge", "linear_model", "kernels")


def test_each_kernel_of_the_loops_has_a_class_and_each_class_a_loop():
    assert {name.removesuffix(" of differences") for name in packed.KINDS} == set(KERNELS)


@pytest.mark.parametrize("documented", [gram_matrix, SVC, KernelKMeans])
def test_docstrings_name_all_kernels(documented):
    words = set(re.findall(r"\w+", inspect.getdoc(documented)))
    assert not set(KERNELS) - words


def table_of_defaults():
    """Width and constant of each class in the table of the page, as it prints them."""
    page = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| (`.*`) \| (`.*`|searched) \| (\d) \|$", page, re.MULTILINE)
    return {
        name: (gamma.strip("`"), coef0)
        for names, gamma, coef0 in rows
        for name in re.findall(r"`(\w+)`", names)
    }


def test_the_page_has_the_defaults_of_all_that_take_a_kernel_by_name():
    defaults = {}
    for family in FAMILIES:
        module = getattr(mlcore, family)
        for name in module.__all__:
            parameters = inspect.signature(getattr(module, name)).parameters
            if "coef0" in parameters and ("kernel" in parameters or "affinity" in parameters):
                gamma = parameters["gamma"].default if "gamma" in parameters else "searched"
                gamma = f'"{gamma}"' if gamma == "scale" else str(gamma)
                defaults[name] = (gamma, f"{parameters['coef0'].default:g}")
    assert table_of_defaults() == defaults
