"""
In a scikit-learn pipeline
==========================

`~shade.SHADE` is a clusterer and a transformer, so it can be the last step of a pipeline or a step in the middle.
"""

# %%
# As the last step, after the preparation of the data:

import numpy as np
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

from shade import SHADE, plots

wine, cultivar = load_wine(return_X_y=True, as_frame=True)
wine.iloc[::20, 3] = np.nan
model = make_pipeline(
    SimpleImputer(),
    QuantileTransformer(n_quantiles=50),
    SHADE(epochs=20, batch_size=60, random_state=0),
)
labels = model.fit_predict(wine)
print(model[-1].n_clusters_, "clusters;", model.predict(wine.head(5)))
plots.plot_embedding(model[-1].embedding_, labels)

# %%
# In the middle, as features for another model. ``set_output`` gives them names:

from sklearn.linear_model import LogisticRegression

embedding = make_pipeline(
    SimpleImputer(),
    QuantileTransformer(n_quantiles=50),
    SHADE(epochs=20, batch_size=60, random_state=0),
).set_output(transform="pandas")
print(embedding.fit_transform(wine).iloc[:3, :4])
classifier = make_pipeline(embedding, LogisticRegression(max_iter=1000)).fit(
    wine, cultivar
)
print(f"accuracy on the training rows: {classifier.score(wine, cultivar):.2f}")
