"""
Share a model
=============

A model is one file. A folder with this file and a card is what model hubs show.
"""

# %%
# ``save_folder`` writes the model and a page about it: sizes of clusters, columns, settings, and what the file reveals about
# the data.

import tempfile
from pathlib import Path

from sklearn.datasets import load_iris

import shade
from shade import DCTreeClustering

X = load_iris(as_frame=True).data
model = DCTreeClustering().fit(X)
folder = Path(tempfile.mkdtemp()) / "iris-clusters"
model.save_folder(folder, title="Clusters of iris flowers")
print((folder / "README.md").read_text()[:420])

# %%
# Whoever has the folder predicts with it:

loaded = shade.load(folder)
print(loaded.predict(X.head(3)))

# %%
# To publish it on Hugging Face, upload the folder: ``huggingface_hub.upload_folder(repo_id="you/iris-clusters",
# folder_path=folder)``. ``huggingface_hub.snapshot_download("you/iris-clusters")`` returns a folder that ``shade.load`` reads.
#
# In MLflow, log the folder as an artifact: ``mlflow.log_artifacts(folder, "model")``, and load it with
# ``shade.load(mlflow.artifacts.download_artifacts(...))``. ``mlflow.sklearn.log_model`` works as well, but stores a pickle,
# which can run code when it is loaded. A file of shade cannot, so skops, which makes pickles of scikit-learn models safe, is not
# needed.
#
# Results of single cells go into an AnnData with ``model.to_anndata(adata)``, or into an h5ad file with
# ``model.to_anndata("cells.h5ad")``.
