"""Handwritten digits: 1,797 images of 8 x 8 pixels. Source and licence: LICENSE-digits.txt."""

from pathlib import Path

import numpy as np


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Load 1,797 images of handwritten digits, 8 x 8 pixels each.

    The images are the test set of *Optical Recognition of Handwritten Digits* [1]_, in its
    order and complete: about 180 of each digit, written by 13 people. A row is one image, its
    pixels row by row. A pixel counts the dark points in a block of 4 x 4 points of the scanned
    image, 0 (paper) to 16 (ink). Loading takes about 2 ms.

    Returns
    -------
    X : ndarray of shape (1797, 64), float64
        Pixels, whole numbers in [0, 16], as in ``sklearn.datasets.load_digits``.
    y : ndarray of shape (1797,), int64
        The digit that each image shows, 0 to 9.

    References
    ----------
    .. [1] E. Alpaydin, C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI Machine
       Learning Repository, 1998, https://doi.org/10.24432/C50P49 (CC BY 4.0).

    Examples
    --------
    >>> from mlcore.datasets import load_digits
    >>> X, y = load_digits()
    >>> X.shape, y[:5].tolist()
    ((1797, 64), [0, 1, 2, 3, 4])
    >>> for row in X[0].reshape(8, 8) / 16:
    ...     print("".join(" .+#"[int(3.99 * pixel)] for pixel in row).rstrip())
      .#+
      ##+#.
      #  +.
      +  ..
     ..  +.
      +  +.
      #.++
      .#+
    """
    with np.load(Path(__file__).with_name("digits.npz")) as stored:
        X = stored["images"].astype(np.float64)
        y = stored["labels"].astype(np.int64)
    return X, y
