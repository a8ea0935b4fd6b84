from sklearn.datasets import load_digits

from shade import SHADE

X, y = load_digits(return_X_y=True)  # 1,797 pictures of digits, 64 pixels each
model = SHADE(epochs=30, random_state=0).fit(X)  # 100 epochs are the default

print(model.n_clusters_, "clusters,", f"{(model.labels_ == -1).mean():.0%} noise")
model.predict(X[:5])  # the same tree, the same rule: equals labels_[:5]
model.assign_noise()  # labels with every noise point put into a cluster
ten = model.recluster(n_clusters=10)  # another answer from the same fit

# Look.
from shade import plots
from shade.data import Samples
from shade.report import write_report

print(model.explain(X, top=2))  # which features set each cluster apart
plots.plot_stability(model.structure_tree_)  # how good other numbers would be
plots.plot_embedding(model.embedding_, model.labels_)  # the clusters

# All of it, and the pictures of each cluster, to explore in a browser:
images = (X * 15).astype("uint8").reshape(-1, 8, 8)
samples = Samples(images, kind="images", source="digits", ids=range(len(X)))
write_report(model, "report.html", samples=samples, title="Digits")
