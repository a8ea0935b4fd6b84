"""
Distances and neighbour graphs
==============================

`~shade.DCTreeClustering` can cluster rows by distances that you have computed, such as edit distances of texts.
"""

# %%
# Words, and how many letters must be changed, added or left out to turn one word into another.

import numpy as np
from scipy.sparse import csr_array

from shade import DCTreeClustering

FIRST = ["clustering", "parliament", "strawberry"]
rng = np.random.default_rng(0)


def misspell(word: str) -> str:
    letters = list(word)
    for place in rng.choice(len(letters), 2, replace=False):
        letters[place] = rng.choice(list("aeiou"))
    return "".join(letters)


def edits(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for count, letter in enumerate(one, start=1):
        last, row[0] = row[0], count
        for place, found in enumerate(other, start=1):
            last, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, last + (letter != found)),
            )
    return row[-1]


words = [misspell(word) for word in FIRST for _ in range(40)]
distances = np.array([[edits(one, other) for other in words] for one in words], float)

# %%
# ``metric="precomputed"`` takes the full matrix:

model = DCTreeClustering(metric="precomputed").fit(distances)
for cluster in range(model.n_clusters_):
    print(cluster, [words[row] for row in np.flatnonzero(model.labels_ == cluster)[:4]])

# %%
# New words are predicted by their distances from the words of the fit:

new = ["clasteting", "strewbarry"]
print(model.predict([[edits(one, other) for other in words] for one in new]))

# %%
# For large data, give a sparse matrix with the distances to the nearest neighbours only. The neighbours must connect all
# rows; otherwise the error says into how many parts the graph falls.

known = distances <= np.sort(distances)[:, [60]]
rows, others = np.nonzero(known)
graph = csr_array((distances[rows, others], (rows, others)), distances.shape)
print(DCTreeClustering(metric="precomputed").fit(graph).n_clusters_)

# %%
# For text embeddings and TF-IDF, ``DCTreeClustering(metric="cosine")`` compares the angles of rows.
