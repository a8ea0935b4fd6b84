"""
Cells with AnnData and scanpy
=============================

The embedding is stored in ``obsm``, where scanpy looks for it, and the labels in ``obs``.
"""

# %%
# A small set of cells of three types, with counts of 100 genes. With real data, ``adata`` comes from
# ``anndata.read_h5ad("cells.h5ad")``. Normalise it and take the logarithm as usual.

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
# Logarithms of counts have the same unit, so all columns are standardised together. A gene that hardly varies then has
# little effect.

model = SHADE(standardize="global", epochs=15, random_state=0).fit(adata.X)
model.to_anndata(adata)
print(adata)
print(adata.obs["shade"].value_counts())

# %%
# Now scanpy can use the result: ``sc.pp.neighbors(adata, use_rep="X_shade")`` and
# ``sc.pl.embedding(adata, "X_shade", color="shade")``. Sparse counts can be passed as they are. If there are tens of
# thousands of genes, use the principal components in ``adata.obsm["X_pca"]``. ``model.to_anndata("cells.h5ad")`` writes
# the same into a file.
#
# The genes that distinguish each cluster:

print(model.explain(adata.to_df(), top=3))
plots.plot_embedding(adata.obsm["X_shade"], model.labels_)
