"""
String kernel: an SVM that classifies words
===========================================

With a string kernel the samples are strings, and no features are needed. Two words are similar if
they share subsequences; gaps in a subsequence lower its weight. The picture is the Gram matrix of
words of three languages.
"""

import matplotlib.pyplot as plt

from mlcore.kernels import StringKernel
from mlcore.svm import SVC

words = {
    "English": "the thing which should have been thought through with strength".split(),
    "German": "durchschnittlich schreiben zwischen menschen streichholz deutsch schule".split(),
    "Italian": "bellezza ragazzo piazza vecchio cappuccino spaghetti parole amico".split(),
}
samples = [word for group in words.values() for word in group]
labels = [language for language, group in words.items() for _ in group]

kernel = StringKernel("gapped", length=2, decay=0.5)
model = SVC(kernel=kernel, C=10).fit(samples, labels)
new = ["thoughtless", "zeitschrift", "pizza"]
print(dict(zip(new, model.predict(new).tolist(), strict=True)))

figure, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
image = ax.imshow(kernel(samples), cmap="viridis", vmin=0, vmax=1)
ax.set_xticks(range(len(samples)), samples, rotation=90, fontsize=7)
ax.set_yticks(range(len(samples)), samples, fontsize=7)
figure.colorbar(image, label="kernel value")
