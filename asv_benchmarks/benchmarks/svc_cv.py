"""The search for C and gamma, against one fit per candidate and fold, and against the last fit."""

from itertools import product

import numpy as np

from mlcore.datasets import load_digits
from mlcore.svm import SVC, SVCCV
