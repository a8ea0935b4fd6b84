"""
Topics with BERTopic
====================

BERTopic can use `~shade.DCTreeClustering` instead of HDBSCAN.
"""

# %%
# Vectors of texts usually come from a language model. Here, latent semantic analysis of a few sentences is enough.

import random

from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from shade import DCTreeClustering

WORDS = {
    "kitchen": "oven bread flour butter sugar recipe salt dough bake taste",
    "football": "goal referee penalty keeper league match striker coach cup team",
    "space": "orbit rocket planet launch moon satellite probe crater comet gravity",
}
chance = random.Random(0)
documents = [
    " ".join(chance.sample(words.split(), 6))
    for words in WORDS.values()
    for _ in range(60)
]
vectors = make_pipeline(
    TfidfVectorizer(), TruncatedSVD(5, random_state=0)
).fit_transform(documents)
clustering = DCTreeClustering()

# %%
# BERTopic names the clusters. With this ``embedding_model`` and ``umap_model`` it does not change the vectors.

from bertopic import BERTopic
from bertopic.backend import BaseEmbedder
from bertopic.dimensionality import BaseDimensionalityReduction

topics = BERTopic(
    embedding_model=BaseEmbedder(),
    umap_model=BaseDimensionalityReduction(),
    hdbscan_model=clustering,
)
labels, _ = topics.fit_transform(documents, vectors)
print(topics.get_topic_info()[["Topic", "Count", "Name"]])

# %%
# New texts get topics from the same tree:

print(topics.transform(documents[:2], vectors[:2])[0])

# %%
# If the topics of some texts are known, ``topics.fit_transform(documents, vectors, y=...)`` passes them on, with −1 for unknown ones. On the
# command line, ``shade fit documents.jsonl --text body`` finds topics and their keywords without BERTopic.
