"""Steps that lower the objective of logistic regression."""
