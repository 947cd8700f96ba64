"""
PCA biplot of iris
==================

A biplot shows the samples and the features in the plane of the first two principal components. An
arrow points to the samples that have large values of its feature.
"""

import numpy as np

from mlcore.datasets import load_iris
from mlcore.decomposition import PCA
from mlcore.plot import biplot

X, y = load_iris()
species = np.array(["setosa", "versicolor", "virginica"])[y]
names = ["sepal length", "sepal width", "petal length", "petal width"]
picture = biplot(PCA(2).fit(X), X, species, feature_names=names)
