"""
Some labels are known
=====================

Often a few rows have a label: someone has looked at them. Clusters can agree with these rows, and the rest of the data
still decides everything else.
"""

# %%
# Handwritten digits of which one in fifty is labelled. Rows without a label have −1.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from shade import SHADE

X, digit = load_digits(return_X_y=True)
y = np.full(len(X), -1)
y[::50] = digit[::50]

free = SHADE(n_networks=2, epochs=20, random_state=0).fit(X)
model = SHADE(n_networks=2, epochs=20, random_state=0).fit(X, y)

# %%
# Rows with the same label are in one cluster, rows with different labels are in different ones. ``known_labels_`` says which
# cluster has which label; −1 is a cluster without a labelled row.

print(model.known_labels_)
rows = y >= 0
print(np.array_equal(model.known_labels_[model.labels_[rows]], y[rows]))

# %%
# What the labels are worth is measured on the other rows only:

for name, found in (("without labels", free), ("with labels", model)):
    score = adjusted_rand_score(digit[~rows], found.labels_[~rows])
    print(f"{name:<15}{found.n_clusters_} clusters, ARI {score:.2f}")

# %%
# Perhaps you cannot name classes, but you can say which rows belong together. Here rows 0 and 10 do (both show a zero), and
# rows 0 and 1 do not:

pairs = SHADE(n_networks=2, epochs=20, random_state=0)
pairs.fit(X, must_link=[(0, 10)], cannot_link=[(0, 1)])
print(pairs.labels_[[0, 10, 1]])

# %%
# On the command line, ``shade fit table.csv --label kind --known-labels`` reads the labels from the column ``kind``. Rows with an empty
# cell have no known label.
