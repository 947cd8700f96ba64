"""
Reject option: ask where the classifier is not sure
===================================================

A wrong answer costs 1 and the question to an expert costs 0.1. The classifier asks wherever every
answer has an expected loss above 0.1, which is the band along the borders.
"""

import numpy as np

from mlcore.bayes import RiskClassifier
from mlcore.datasets import load_iris
from mlcore.discriminant import QuadraticDiscriminantAnalysis
from mlcore.plot import decision_regions

X, y = load_iris()
X, species = X[:, 2:], np.array(["setosa", "versicolor", "virginica"])
y = species[y]
loss = [[0, 1, 1, 0.1], [1, 0, 1, 0.1], [1, 1, 0, 0.1]]
model = RiskClassifier(QuadraticDiscriminantAnalysis(), loss, [*species, "ask"]).fit(X, y)
names = ["petal length in cm", "petal width in cm"]
picture = decision_regions(model, X, y, feature_names=names)
asked = (model.predict(X) == "ask").sum()
print(f"asks for {asked} of {len(X)} flowers, mean loss {model.mean_loss(X, y):.3f}")
