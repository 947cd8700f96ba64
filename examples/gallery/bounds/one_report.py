"""
Several statements, one probability of failure
==============================================

Error, recall, precision, F1, AUC and the coverage of conformal sets come from fresh examples, each
at a share of 5%. All six hold together with probability at least 95%, whichever one reads first.
"""

import numpy as np

from mlcore.bounds import classification_statements, report
from mlcore.conformal import conformal_sets
from mlcore.datasets import load_digits
from mlcore.linear_model import LogisticRegression
from mlcore.plot import report_intervals

X, y = load_digits()
odd = y % 2
model = LogisticRegression(C=0.01).fit(X[:600], odd[:600])
fresh = X[600:1400], odd[600:1400]
statements = classification_statements(
    fresh[1], model.predict(fresh[0]), scores=model.decision_function(fresh[0])
)
statements["coverage of sets"] = conformal_sets(model, X[1400:], odd[1400:], 0.95)
found = report(statements, delta=0.05, shares=dict.fromkeys(statements, 1) | {"error": 3})
print(found)

# %%
# The error has three times the share of the others, and so a somewhat narrower interval.

picture = report_intervals(found)
lengths = np.array([statement.upper - statement.lower for statement in found.statements])
