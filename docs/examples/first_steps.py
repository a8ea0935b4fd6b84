from sklearn.datasets import load_digits

from shade import SHADE

X, y = load_digits(return_X_y=True)  # 1,797 pictures of digits, 64 pixels each
model = SHADE(random_state=0).fit(X)

print(model.n_clusters_, "clusters,", f"{(model.labels_ == -1).mean():.0%} noise")
model.predict(X[:5])  # labels of new rows; here the same as labels_[:5]
model.assign_noise()  # labels in which every noise row is put into a cluster
ten = model.recluster(n_clusters=10)  # ten clusters, without training again

# Look.
from shade import plots
from shade.data import Samples
from shade.report import write_report

print(model.explain(X, top=2))  # features that distinguish each cluster
plots.plot_stability(model.structure_tree_)  # how well each number fits
plots.plot_embedding(model.embedding_, model.labels_)  # the clusters

# Everything, with the pictures of each cluster, to explore in a browser:
images = (X * 15).astype("uint8").reshape(-1, 8, 8)
samples = Samples(images, kind="images", source="digits", ids=range(len(X)))
write_report(model, "report.html", samples=samples, title="Digits")
