"""
A table with pandas
===================

Columns and rows keep their names, and the result is a table again.
"""

# %%
# Sales of three kinds of customers, with a few empty cells. A missing value is an error that names its row and column, so
# here it is replaced by the mean of the column. Text, such as the city, cannot be clustered.

import numpy as np
import pandas as pd

from shade import SHADE, plots

rng = np.random.default_rng(0)
kind = np.repeat([0, 1, 2], 200)
customers = pd.DataFrame(
    {
        "customer": [f"C{row:04}" for row in range(600)],
        "city": rng.choice(["Vienna", "Munich", "Graz"], 600),
        "visits": rng.normal([2, 12, 12], 1.0, (600, 3))[np.arange(600), kind],
        "basket": rng.normal([80, 15, 60], 6.0, (600, 3))[np.arange(600), kind],
        "returns": rng.normal([1, 1, 8], 0.8, (600, 3))[np.arange(600), kind],
    }
)
customers.loc[::50, "basket"] = np.nan

features = customers.set_index("customer").drop(columns="city")
features = features.fillna(features.mean())
model = SHADE(epochs=15, random_state=0).fit(features)
print(model.n_clusters_, "clusters,", f"{np.mean(model.labels_ < 0):.1%} noise")

# %%
# The result for each customer, together with the column that was left out:

found = model.to_frame(ids=features.index)
found["city"] = customers["city"].to_numpy()
print(found.head())

# %%
# Which columns distinguish each cluster, from −1 (always lower than in other clusters) to 1 (always higher):

print(model.explain(features, top=2))

# %%
# New rows get labels from the same tree. Columns must have the same names as in the fit.

print(model.predict(features.tail(3)))
plots.plot_embedding(model.embedding_, model.labels_)
