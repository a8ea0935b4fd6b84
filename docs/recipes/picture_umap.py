"""
A picture with UMAP
===================

The embedding has more than two dimensions, because clusters need room. UMAP draws it in two. The clusters are those of SHADE.
"""

# %%
# Do not cluster the picture itself: two dimensions lose information.

import umap
from sklearn.datasets import load_digits

from shade import SHADE, plots

X, digit = load_digits(n_class=5, return_X_y=True)
model = SHADE(epochs=30, random_state=0).fit(X)
picture = umap.UMAP(n_neighbors=15, random_state=0, n_jobs=1).fit_transform(
    model.embedding_
)
plots.plot_embedding(picture, model.labels_).set_title(
    "Embedding of SHADE, drawn by UMAP"
)
