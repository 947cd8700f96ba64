"""Recognise handwritten digits by a support vector machine."""

from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, shuffle=False)
machine = SVC(gamma=0.001).fit(X_train, y_train)
predicted = machine.predict(X_test)

RESULT = {"confusion": confusion_matrix(y_test, predicted), "intercept": machine.intercept_}
