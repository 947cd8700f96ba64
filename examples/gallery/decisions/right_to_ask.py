"""
The right to ask
================

If asking an expert costs a tenth of an error, ask where no class is sure enough. The band along
the borders is where the expected loss of any answer is above 0.1.
"""

from mlcore.bayes import RiskClassifier
from mlcore.datasets import load_iris
from mlcore.discriminant import QuadraticDiscriminantAnalysis
from mlcore.plot import decision_regions

X, y = load_iris()
X = X[:, 2:]
loss = [[0, 1, 1, 0.1], [1, 0, 1, 0.1], [1, 1, 0, 0.1]]
model = RiskClassifier(QuadraticDiscriminantAnalysis(), loss, [0, 1, 2, 3]).fit(X, y)
picture = decision_regions(model, X, y)
picture.ax_.set(xlabel="petal length in cm", ylabel="petal width in cm", title="action 3 is to ask")
print(f"asks for {(model.predict(X) == 3).sum()} flowers, mean loss {model.mean_loss(X, y):.3f}")
