"""
New rows every week
===================

``predict`` labels new rows by the clusters there are. ``update`` adds them to the model: clusters grow, new ones can appear, and
clusters keep their numbers. Nothing is trained.
"""

# %%
# Handwritten digits. The model is fitted without any zero.

import warnings

import numpy as np
from sklearn.datasets import load_digits

from shade import SHADE

X, digit = load_digits(return_X_y=True)
zero, later = digit == 0, np.arange(len(X)) % 5 == 0
before, week = X[~zero & ~later], X[~zero & later]
model = SHADE(n_networks=2, epochs=30, random_state=0).fit(before)
first = model.labels_
print(model.n_clusters_, "clusters of", len(before), "rows")

# %%
# More rows of the same kinds. Old rows come first in all attributes, so ``labels_[: len(before)]`` are theirs:

model.update(week)
kept = np.mean(model.labels_[: len(before)] == first)
print(f"{model.n_clusters_} clusters, {kept:.0%} of the old rows kept their label")

# %%
# Rows of a new kind. ``predict`` can only put them into a cluster that is there, or call them noise. ``update`` can find that
# they are a cluster of their own. It warns if the networks do not fit them. A new cluster gets the next number, or the number of a
# cluster that is gone because two have become one:

n_clusters = model.n_clusters_
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    model.update(X[zero])
print(*(warning.message for warning in told), sep="\n")
new = model.labels_[-zero.sum() :] >= n_clusters
print(f"{new.mean():.0%} of the zeros are in a new cluster")

# %%
# This works as long as the networks place the new rows apart from all others, although they have never seen such rows. Nines
# would end in clusters of other digits. Then let the networks go on training, with all rows: first those that were clustered,
# which the model does not hold.

nine = digit == 9
rows = np.concatenate([X[~nine], X[nine]])
model = SHADE(n_networks=2, epochs=30, random_state=0).fit(X[~nine])
n_clusters = model.n_clusters_
model.update(rows, train=True)
found = model.labels_[-nine.sum() :] >= n_clusters
print(f"{found.mean():.0%} of the nines are in a new cluster")

# %%
# On the command line, ``shade update out newer.csv -o grown`` does the same with a folder of results.
