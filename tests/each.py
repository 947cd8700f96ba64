"""Many small cases of a test in one item of pytest, which alone costs more than many of them."""

import inspect

import pytest


def each(names, values):
    """As `pytest.mark.parametrize`, but one item: all cases run, and those that fail are named.

    Fixtures are those of the item: a test whose cases need fresh ones is parametrized.
    """
    names = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
    cases = [dict(zip(names, v if len(names) > 1 else (v,), strict=True)) for v in values]

    def decorate(test):
        signature = inspect.signature(test)
        others = [p for name, p in signature.parameters.items() if name not in names]

        def test_of_all(**given):
            tell_all_that_fail(lambda case: test(**given, **case), cases)

        for name in ("__name__", "__qualname__", "__module__", "__doc__", "pytestmark"):
            if hasattr(test, name):
                setattr(test_of_all, name, getattr(test, name))
        test_of_all.__signature__ = signature.replace(parameters=others)
        return test_of_all

    return decorate


def tell_all_that_fail(call, cases):
    """Call with each case, and raise the errors of all that fail, each with a note of its case.

    If none fails but some are skipped, so is the item.
    """
    failures, skipped = [], []
    for case in cases:
        try:
            call(case)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in the case {case}")
            failures.append(error)
        except pytest.skip.Exception as reason:
            skipped.append(reason)
    if len(failures) > 1:
        raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} cases failed", failures)
    for error in failures + skipped:
        raise error
