"""
Cells with AnnData and scanpy
=============================

The embedding goes to ``obsm``, where scanpy looks for it, the labels to ``obs``.
"""

# %%
# A small set of cells of three types, with counts of 100 genes. With real data, ``adata`` comes from
# ``anndata.read_h5ad("cells.h5ad")``; normalise it and take the logarithm as you are used to.

import anndata
import numpy as np
import pandas as pd

from shade import SHADE, plots

rng = np.random.default_rng(0)
levels = rng.gamma(2.0, 1.5, (3, 100))
cell_type = np.repeat([0, 1, 2], 150)
adata = anndata.AnnData(
    X=np.log1p(rng.poisson(levels[cell_type])).astype(np.float32),
    var=pd.DataFrame(index=[f"gene{gene}" for gene in range(100)]),
    obs=pd.DataFrame(index=[f"cell{cell}" for cell in range(450)]),
)

# %%
# Logarithms of counts share a unit, so they are standardised together: a gene that hardly varies stays quiet.

model = SHADE(standardize="global", epochs=15, random_state=0).fit(adata.X)
adata.obsm["X_shade"] = model.embedding_
adata.obs["shade"] = pd.Categorical(model.labels_)
adata.obs["shade_probability"] = model.probabilities_
adata.uns["shade"] = {"n_clusters": model.n_clusters_}
print(adata)
print(adata.obs["shade"].value_counts())

# %%
# From here on scanpy goes its own way, as in ``sc.pp.neighbors(adata, use_rep="X_shade")`` and
# ``sc.pl.embedding(adata, "X_shade", color="shade")``. Sparse counts: give ``adata.X.toarray()``, or the principal
# components in ``adata.obsm["X_pca"]`` where there are tens of thousands of genes.
#
# The genes that mark each cluster:

print(model.explain(adata.to_df(), top=3))
plots.plot_embedding(adata.obsm["X_shade"], model.labels_)
