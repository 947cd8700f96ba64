"""The linear system of kernel ridge regression and its solvers."""
