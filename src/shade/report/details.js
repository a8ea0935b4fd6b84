// What is chosen, in detail: the cluster and its name, its rows with their values, and how its columns differ from the rest.

const MOST_LISTED = 60;
const MOST_COMPARED = 6;
const MOST_BARS = 24;
const MOST_VALUES = 5;
const SLICE = 12; // milliseconds of work between two frames
let { picked } = data; // columns whose values are told
const farthestOutside = mostOutlying(12);

// The only cluster of which all points are selected, and nothing else; noise is −1, and null if there is none.
function wholeCluster() {
  const counts = countSelected();
  const some = counts.flatMap((amount, place) => (amount ? [place] : []));
  if (some.length !== 1) return null;
  const label = some[0] === state.clusters.length ? -1 : some[0];
  return counts[some[0]] === (label < 0 ? countNoise() : state.sizes[label]) ? label : null;
}

function showDetails() {
  const some = state.nSelected > 0;
  const label = some ? wholeCluster() : null;
  const exemplars = label === null || label < 0 ? [] : state.clusters[label].exemplars.map((row) => positionOfRow[row]);
  const others = some ? selectedPositions(MOST_LISTED + exemplars.length).filter((position) => !exemplars.includes(position)) : farthestOutside;
  const listed = [...exemplars, ...others].slice(0, MOST_LISTED);
  showCard(label);
  element("chosen-title").textContent = !some ? "Farthest outside" : label === null ? "Selection" : label < 0 ? "Noise" : `Cluster ${label}`;
  element("chosen-note").textContent = !some
    ? "The highest outlier scores. What you select, in a picture or in the table, lights up everywhere and is listed here."
    : `${state.nSelected > MOST_LISTED ? `${MOST_LISTED} of ` : ""}${count(state.nSelected)} ${state.nSelected === 1 ? "point" : "points"}${exemplars.length ? ", exemplars first" : ""}.`;
  const asTable = picked.length > 0;
  element("chosen-rows").hidden = asTable;
  element("chosen-table").hidden = !asTable;
  element("chosen-rows").replaceChildren(...(asTable ? [] : listed.map(listedPoint)));
  if (asTable) fillRows(listed, exemplars.length);
}

function showCard(label) {
  const named = label !== null && label >= 0;
  element("cluster-card").hidden = !named;
  if (!named) return;
  const cluster = state.clusters[label];
  const own = givenNames.get(rangesOf(label).join(";"));
  element("cluster-name").value = own ? own.text : "";
  element("cluster-name").placeholder = own ? "" : state.titles[label] || "Give it a name";
  element("cluster-facts").replaceChildren(...factsOf(cluster, label).map((fact) => make("li", {}, ...[fact].flat())));
}

function factsOf(cluster, label) {
  const facts = [`${count(state.sizes[label])} points, ${percent(state.sizes[label] / n)}`];
  if (state.clusters.length > 1) facts.push(`persistence ${cluster.persistence.toFixed(2)}`);
  if (state.number === 0) facts.push(...reliabilityOf(data.reliability[label]));
  if (truth) {
    const { name, share } = commonTruths()[label];
    facts.push([`${percent(share)} labelled `, make("bdi", {}, name)]);
  }
  if (cluster.words && cluster.words.length) facts.push(["words: ", make("bdi", {}, cluster.words.map((word) => word.name).join(", "))]);
  return facts;
}

// How far to trust a cluster of the fit.
function reliabilityOf({ evidence, limit, stability, separation }) {
  const facts = [];
  const told = (text, title) => make("span", { title }, text);
  if (evidence !== null) facts.push(told(`evidence ${evidence.toFixed(2)}${limit === null ? "" : ` of ${limit.toFixed(2)} needed`}`, "How much denser the cluster is than the place where it meets the next one"));
  facts.push(told(`stability ${stability.toFixed(2)}`, "How well it is found again in random halves of the rows; 1 is always"));
  facts.push(told(`DISCO ${separation.toFixed(2)}`, "How well the density supports the cluster, from −1 to 1"));
  return facts;
}

function pointTitle(position) {
  return make("b", { dir: "auto" }, ...breakable(nameOf(position)));
}

function whereIs(position) {
  const label = state.labels[position];
  return state.nSelected ? tellCluster(label) : `score ${points.outlier[position].toFixed(3)}`;
}

function listedPoint(position) {
  const text = make("span", { class: "text" }, pointTitle(position), make("span", { class: "small" }, whereIs(position)));
  const row = make("li", { title: isolated(nameOf(position)) }, ...[thumbnailOf(points.row[position], 32)].filter(Boolean), text);
  row.style.setProperty("--row", colourOf(state.labels[position]));
  return row;
}

function fillRows(listed, nExemplars) {
  const shown = picked.map((place) => columns[place]);
  element("chosen-head").replaceChildren(make("th", { scope: "col" }, "Row"), ...shown.map((column) => make("th", { scope: "col", dir: "auto", title: isolated(column.name), class: column.text ? "" : "right" }, column.name)));
  element("chosen-body").replaceChildren(...listed.map((position, place) => {
    const where = place < nExemplars ? "exemplar" : whereIs(position);
    const title = make("th", { scope: "row" }, ...[thumbnailOf(points.row[position], 28)].filter(Boolean), make("span", { class: "text" }, pointTitle(position), make("span", { class: "small" }, where)));
    const cells = shown.map((column) => {
      const text = textOf(column, valueAt(column, position));
      return make("td", { dir: "auto", class: column.text ? "" : "right", title: isolated(text) }, text);
    });
    const row = make("tr", {}, title, ...cells);
    row.style.setProperty("--row", colourOf(state.labels[position]));
    return row;
  }));
}

// Boxes to choose the columns whose values are told.
function offerColumns() {
  if (!columns.length) return;
  element("pick-columns").append(...columns.map((column, place) => {
    const box = make("input", { type: "checkbox", value: place });
    box.checked = picked.includes(place);
    box.addEventListener("change", () => {
      picked = columns.map((_, other) => other).filter((other) => (other === place ? box.checked : picked.includes(other)));
      showDetails();
    });
    return make("label", {}, box, make("bdi", {}, column.name));
  }));
}

// Compare the selection with the rest, column after column, with a frame between slices; then draw what differs most.
function compareInPieces() {
  if (!columns.length) return [];
  const compared = state.nSelected > 0 && state.nSelected < n;
  const effects = [];
  const work = () => {
    const started = performance.now();
    while (effects.length < columns.length && performance.now() - started < SLICE) {
      const column = columns[effects.length];
      effects.push(compared && !isLong(column) ? Math.abs(compareColumn(column).effect) : 0);
    }
    if (effects.length < columns.length) pieces.unshift(work);
    else pieces.unshift(...showComparison(effects, compared));
  };
  return [work];
}

// What is left to do: a chart a piece.
function showComparison(effects, compared) {
  const places = [...columns.keys()].filter((place) => !isLong(columns[place]) && (!compared || effects[place] > 0.01));
  if (compared) places.sort((one, other) => effects[other] - effects[one]);
  const shown = places.slice(0, MOST_COMPARED);
  element("compare-title").textContent = compared ? "How it differs from the rest" : "Values";
  element("compare-key").hidden = !compared;
  element("compare-note").textContent = compared ? (shown.length ? "" : "No column differs from the rest.") : "Choose a cluster, or select points, to compare their values with those of the rest.";
  const charts = [];
  const draws = shown.map((place) => () => {
    const one = compareColumn(columns[place]);
    if (one.nOwn + one.nRest) charts.push(chartOf(one, compared));
  });
  return [...draws, () => element("compare-charts").replaceChildren(...charts)];
}

// Names and sentences, of which most occur once: their shares tell nothing.
function isLong(column) {
  return column.text && column.levels.length > n / 2;
}

function chartOf(one, compared) {
  const { column, effect } = one;
  const title = make("h3", { dir: "auto" }, column.name);
  const head = make("div", { class: "chart-head" }, title);
  if (compared) head.append(make("span", { class: "small", title: "Effect: 1 or −1 if the column alone separates the selection from the rest" }, `effect ${effect < 0 ? "−" : "+"}${Math.abs(effect).toFixed(2)}`));
  return make("div", { class: "chart" }, head, ...(column.text ? barsOf(one, compared) : histogramOf(one, compared)));
}

// The values that differ most, or the most frequent ones, each with a bar for the selection and one for the rest.
function barsOf({ column, own, rest, nOwn, nRest }, compared) {
  const here = (code) => own[code] / (nOwn || 1), elsewhere = (code) => rest[code] / (nRest || 1);
  const weight = (code) => (compared ? Math.abs(here(code) - elsewhere(code)) : own[code] + rest[code]);
  const shown = [...own.keys()].sort((one, other) => weight(other) - weight(one) || one - other).slice(0, MOST_VALUES);
  return shown.map((code) => {
    const shares = compared ? [here(code), elsewhere(code)] : [(own[code] + rest[code]) / (nOwn + nRest)];
    const bars = shares.map((share, place) => make("i", { class: compared && place === 0 ? "own" : "rest", style: { width: `${100 * share}%` } }));
    return make("div", { class: "value" }, make("span", { class: "value-name", dir: "auto", title: isolated(column.levels[code]) }, column.levels[code]),
      make("span", { class: "value-bars", "aria-hidden": "true" }, ...bars), make("span", { class: "small" }, shares.map(percent).join(" / ")));
  });
}

function histogramOf({ column, own, rest, nOwn, nRest }, compared) {
  const { levels } = column;
  const all = own.map((amount, code) => amount + rest[code]);
  const [low, high] = [0.005, 0.995].map((share) => quantileOf(levels, all, nOwn + nRest, share));
  const few = levels.filter((level) => level >= low && level <= high).length <= MOST_BARS;
  const places = few ? [...levels].filter((level) => level >= low && level <= high) : null;
  const bins = few ? places.length : MOST_BARS;
  const binOf = (level) => Math.min(Math.max(few ? places.findIndex((place) => place >= Math.min(level, high)) : Math.floor(((level - low) / (high - low)) * bins), 0), bins - 1);
  const sums = [own, rest].map((counts) => {
    const sum = new Float64Array(bins);
    counts.forEach((amount, code) => { if (amount) sum[binOf(levels[code])] += amount; });
    return sum;
  });
  const shares = compared ? [sums[0].map((sum) => sum / nOwn), sums[1].map((sum) => sum / nRest)] : [sums[0].map((sum, bin) => (sum + sums[1][bin]) / (nOwn + nRest))];
  const top = Math.max(...shares.map((share) => Math.max(...share))) || 1;
  const told = (value) => (column.date ? textOf(column, value) : short(value));
  const [here, elsewhere, everywhere] = [[own, nOwn], [rest, nRest], [all, nOwn + nRest]].map(([counts, total]) => told(quantileOf(levels, counts, total, 0.5)));
  const words = compared ? `median ${here}, rest ${elsewhere}` : `median ${everywhere}`;
  const picture = draw("svg", { viewBox: `0 0 ${bins} 1`, preserveAspectRatio: "none", role: "img", "aria-label": `Histogram of ${isolated(column.name)}: ${words}` });
  shares[0].forEach((share, bin) => picture.append(draw("rect", { class: compared ? "own" : "rest", x: bin + 0.06, y: 1 - share / top, width: 0.88, height: share / top })));
  if (compared) {
    const outline = [...shares[1]].map((share, bin) => `${bin === 0 ? "M" : "L"}${bin} ${1 - share / top}H${bin + 1}`).join("");
    picture.append(draw("path", { class: "outline", d: outline }));
  }
  const ends = [few ? places[0] : low, few ? places[bins - 1] : high].map((end) => make("span", {}, told(end)));
  return [picture, make("div", { class: `ends small ${column.date ? "long" : ""}` }, ends[0], make("span", {}, words), ends[1])];
}

function draw(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// What the colours of the points mean, below the picture.
function showLegend() {
  const legend = element("legend");
  legend.hidden = !state.colour;
  if (!state.colour) return;
  const { ends, named, others, palette, codes } = state.colour;
  const entry = (colour, ...text) => make("span", { class: "entry" }, make("span", { class: "swatch", style: { background: colour } }), ...text);
  const empty = codes.includes(-1);
  const entries = named
    ? named.map((name, place) => entry(colourOf(place), make("bdi", {}, name)))
    : [make("span", {}, short(ends[0])), make("span", { class: "scale", style: { background: `linear-gradient(to right, ${palette.join(",")})` } }), make("span", {}, short(ends[1]))];
  if (empty) entries.push(entry(colourOf(-1), others ? "others" : "no value"));
  legend.replaceChildren(...entries);
}
