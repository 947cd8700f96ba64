"""Choose C and gamma of a support vector machine by cross-validation."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_digits(return_X_y=True)
grid = {"svc__C": np.logspace(-1, 2, 4), "svc__gamma": np.logspace(-4, -1, 4)}
folds = StratifiedKFold(3, shuffle=True, random_state=0)
search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=folds).fit(X, y)

RESULT = {
    "scores": search.cv_results_["mean_test_score"],
    "best": np.array([search.best_params_[name] for name in sorted(grid)]),
}
