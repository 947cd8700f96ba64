"""The dual problem, its solvers, and proof of optimality."""
