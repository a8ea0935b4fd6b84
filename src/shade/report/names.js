// Names that a person gives to clusters. A name belongs to branches of the tree, so it stays where another number of
// clusters has a cluster of the same branches; clusters inside of it are told with its name and their number.

const givenNames = new Map();

function rangesOf(label) {
  return state.parts.filter((_, part) => state.joined[part] === label).map(({ start, stop }) => [start, stop]);
}

function nameCluster(label, name) {
  const ranges = rangesOf(label);
  const text = name.trim();
  if (text) givenNames.set(ranges.join(";"), { text, ranges });
  else givenNames.delete(ranges.join(";"));
  findTitles();
}

// The name of each cluster, "" where none is known.
function findTitles() {
  const sizes = new Map([...givenNames.values()].map((given) => [given, given.ranges.reduce((sum, [start, stop]) => sum + stop - start, 0)]));
  state.titles = state.clusters.map((_, label) => {
    const own = rangesOf(label);
    const exact = givenNames.get(own.join(";"));
    if (exact) return exact.text;
    let around = null;
    for (const given of givenNames.values()) {
      const holds = own.every(([start, stop]) => given.ranges.some(([first, last]) => first <= start && stop <= last));
      if (holds && (!around || sizes.get(given) < sizes.get(around))) around = given;
    }
    return around ? `${around.text}, ${label}` : "";
  });
}

// A cluster in a sentence, such as "cluster 3" or "cluster 3, Roses".
function tellCluster(label) {
  if (label < 0) return "noise";
  return state.titles[label] ? `cluster ${label}, ${isolated(state.titles[label])}` : `cluster ${label}`;
}
