// The page around the pictures: table, slider, selection, hover, download, themes.

const pointer = { x: 0, y: 0, pressed: false };
const placeOfExemplar = new Map(data.thumbnails ? data.thumbnails.exemplars.rows.map((row, place) => [row, place]) : []);
const element = (id) => document.getElementById(id);
const count = (value) => value.toLocaleString("en");
const countClusters = (k) => `${k} ${k === 1 ? "cluster" : "clusters"}`;
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
const short = (value) => (Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2) : Number(value.toPrecision(4)).toString());

const nextTask = () => new Promise((resolve) => setTimeout(resolve, 0));
let pieces = [];
let working = false;

// Call a function before the next frame, or soon where no frame is drawn: in a hidden tab, or while a page is printed.
function beforeFrame(call) {
  let called = false;
  const once = () => {
    if (called) return;
    called = true;
    call();
  };
  requestAnimationFrame(once);
  setTimeout(once, 100);
}

// Work that would be felt if done at once, a piece a frame; newer work takes the place of what is left of older.
function workInPieces(work) {
  pieces = work;
  element("main").setAttribute("aria-busy", "true");
  if (!working) beforeFrame(workOnPiece);
  working = true;
}

function workOnPiece() {
  try {
    if (pieces.length) pieces.shift()();
  } finally { // a piece that fails must not stop those after it
    working = pieces.length > 0;
    element("main").setAttribute("aria-busy", String(working));
    if (working) beforeFrame(workOnPiece);
  }
}

function finishPieces() {
  while (pieces.length) pieces.shift()();
}

// A name as it may stand among other words: letters that are written from right to left turn none of them around. Where
// it has an element of its own, dir="auto" does the same.
function isolated(name) {
  return `\u2068${String(name).replace(/[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g, "")}\u2069`;
}

// An element with attributes and children; text is only ever set as text.
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") Object.assign(made.style, value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// The picture of a row, as high as asked for; nothing where there is none.
function thumbnailOf(row, height) {
  if (!data.thumbnails) return null;
  const { exemplars, everything } = data.thumbnails;
  let sheet = exemplars;
  let place = placeOfExemplar.get(row);
  if (place === undefined) {
    if (row % everything.step) return null;
    [sheet, place] = [everything, row / everything.step];
  }
  const scale = height / sheet.height;
  const name = data.ids ? isolated(data.ids[positionOfRow[row]]) : `row ${row}`;
  const across = (place % sheet.columns) * sheet.width * scale;
  const down = Math.floor(place / sheet.columns) * sheet.height * scale;
  const made = make("span", { class: "thumb", role: "img", "aria-label": name, title: name });
  Object.assign(made.style, {
    width: `${sheet.width * scale}px`, height: `${height}px`, backgroundImage: `var(--sheet-${sheet === exemplars ? "exemplars" : "everything"})`,
    backgroundSize: `${sheet.columns * sheet.width * scale}px auto`, backgroundPosition: `-${across}px -${down}px`,
  });
  return made;
}

function describeFeature({ name, effect, inside, outside }) {
  const chip = make("span", { class: "chip", title: `${isolated(name)}: effect ${effect.toFixed(2)}, ${short(inside)} here, ${short(outside)} elsewhere` });
  chip.append(make("span", { class: effect > 0 ? "up" : "down", "aria-hidden": "true" }, effect > 0 ? "▲ " : "▼ "), make("b", { dir: "auto" }, name),
    ` ${effect > 0 ? "+" : "−"}${Math.abs(effect).toFixed(2)}`);
  return chip;
}

function describeCluster(cluster, title, common) {
  const cell = make("td", {}, ...(title ? [make("bdi", { class: "given" }, title)] : []));
  const pictures = data.thumbnails ? cluster.exemplars.map((row) => thumbnailOf(row, 30)) : [];
  const features = (cluster.words && cluster.words.length ? cluster.words : cluster.features).slice(0, 3).map(describeFeature);
  if (pictures.length) cell.append(make("div", { class: "strip" }, ...pictures));
  else if (features.length) cell.append(make("div", { class: "chips" }, ...features));
  else cell.append(make("span", { class: "small" }, cluster.exemplars.slice(0, 3).map((row) => isolated(nameOf(positionOfRow[row]))).join(", ")));
  if (common) cell.append(make("span", { class: "small" }, `${percent(common.share)} labelled ${isolated(common.name)}`));
  return cell;
}

function clusterRow(label, size, description, persistence) {
  const name = label < 0 ? "noise" : String(label);
  const button = make("button", { type: "button", class: "name", "aria-pressed": "false" }, make("span", { class: "swatch", style: { background: colourOf(label) } }), name);
  button.setAttribute("aria-label", `Select ${tellCluster(label)}`);
  const stays = make("td");
  if (persistence !== null) {
    stays.append(make("span", { class: "meter", "aria-hidden": "true" }, make("i", { style: { width: `${100 * persistence}%` } })), persistence.toFixed(2));
  }
  const row = make("tr", { "data-label": label }, make("td", {}, button),
    make("td", { class: "right" }, count(size), make("span", { class: "small" }, percent(size / n))), stays, description);
  row.addEventListener("click", (event) => chooseCluster(label, event.shiftKey || event.ctrlKey || event.metaKey));
  return row;
}

function fillTable() {
  const common = truth ? commonTruths() : [];
  const rows = state.clusters.map((cluster, label) => clusterRow(label, state.sizes[label], describeCluster(cluster, state.titles[label], common[label]), state.clusters.length > 1 ? cluster.persistence : null));
  const noise = countNoise();
  if (noise) rows.push(clusterRow(-1, noise, make("td", {}, make("span", { class: "small" }, "in no cluster")), null));
  element("cluster-rows").replaceChildren(...rows);
  element("telling").textContent = data.thumbnails ? "Exemplars" : state.clusters.some((cluster) => cluster.features.length) ? "Set apart by (effect)" : "Exemplars";
}

function chooseCluster(label, more) {
  const inside = (position) => (label < 0 ? state.labels[position] < 0 : state.labels[position] === label);
  const before = state.selected.slice();
  const pressed = document.querySelector(`tr[data-label="${label}"] button`).getAttribute("aria-pressed") === "true";
  const alone = pressed && countSelected().filter(Boolean).length === 1;
  if (more) choose((position) => (inside(position) ? !pressed : before[position]));
  else choose((position) => !alone && inside(position));
}

function choose(test) {
  finishPieces();
  selectWhere(test);
  showSelection();
  workInPieces([repaintScatter, paintBars, paintTree, ...compareInPieces()]);
}

function showSelection() {
  const counts = countSelected();
  for (const row of element("cluster-rows").rows) {
    const label = Number(row.dataset.label);
    const lit = counts[label < 0 ? counts.length - 1 : label];
    const whole = lit > 0 && lit === (label < 0 ? countNoise() : state.sizes[label]);
    row.classList.toggle("lit", lit > 0);
    row.classList.toggle("dim", state.nSelected > 0 && lit === 0);
    row.querySelector("button").setAttribute("aria-pressed", String(whole));
  }
  const some = state.nSelected > 0;
  const searched = element("search").value.trim() !== "";
  element("selected").textContent = some ? `${count(state.nSelected)} of ${count(n)} selected` : searched ? "Nothing found" : "Nothing selected";
  element("clear").disabled = !some && !searched;
  element("download").title = some ? "Write the selected rows to a file" : "Write all rows to a file";
  showDetails();
}

// A path may go on in the next line after a slash.
function breakable(name) {
  return name.split(/(?<=\/)/).flatMap((part) => [part, make("wbr")]);
}

function hover(position) {
  const tooltip = element("tooltip");
  tooltip.hidden = position === undefined;
  if (tooltip.hidden) return;
  const label = state.labels[position];
  const lines = [label < 0 ? "noise" : `${tellCluster(label)}, probability ${strengthOf(position).toFixed(2)}`];
  if (truth) lines.push(["given label ", make("bdi", {}, truth.names[truth.codes[position]])]);
  if (label < 0) lines.push(`outlier score ${points.outlier[position].toFixed(2)}`);
  for (const place of picked) lines.push([make("bdi", { class: "told" }, columns[place].name), " ", make("bdi", {}, textOf(columns[place], valueAt(columns[place], position)))]);
  tooltip.replaceChildren(...[thumbnailOf(points.row[position], 72)].filter(Boolean), make("strong", { dir: "auto" }, nameOf(position)),
    ...lines.map((line) => make("div", {}, ...[line].flat())));
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(pointer.x + 14, window.innerWidth - box.width - 4))}px`;
  tooltip.style.top = `${Math.max(4, Math.min(pointer.y + 14, window.innerHeight - box.height - 4))}px`;
}

function showNumber(number) {
  useNumber(number);
  const k = state.clusters.length;
  useColour(state.colourBy); // probabilities depend on the clusters, and scales on the theme
  showLegend();
  for (const button of element("layers").querySelectorAll("button")) button.setAttribute("aria-pressed", String(Number(button.value) === state.number));
  element("number").value = Math.min(k, data.numbers.length);
  element("number-value").textContent = k;
  element("number").setAttribute("aria-valuetext", countClusters(k));
  element("fitted").disabled = state.number === 0;
  element("fitted").title = countClusters(data.fitted.clusters.length);
  workInPieces([
    repaintScatter,
    paintNames,
    () => { fillTable(); showSelection(); },
    paintBars,
    () => { paintTree(); paintStability(); },
    describePictures,
    ...compareInPieces(),
  ]);
}

function showView(view) {
  useView(view);
  element("view-note").textContent = view.note;
  workInPieces([() => {}, showWhole, repaintScatter, paintNames, describePictures]);
}

function showColour(by) {
  useColour(by);
  showLegend();
  workInPieces([repaintScatter]);
}

function showNames() {
  workInPieces([paintNames, () => { fillTable(); showSelection(); }]);
}

// A button for each layer, the coarsest first.
function offerLayers() {
  element("layers").hidden = data.layers.length < 2;
  element("layers").append(...data.layers.map((layer, place) => {
    const k = (layer || data.fitted).clusters.length;
    const value = layer ? -place - 1 : 0;
    const button = make("button", { type: "button", value, "aria-pressed": "false", "aria-label": `Layer of ${countClusters(k)}${layer ? "" : ", as fitted"}` }, String(k));
    button.addEventListener("click", () => showNumber(value));
    return button;
  }));
}

function offerColours() {
  const option = (value, ...text) => make("option", { value }, ...text);
  const others = columns.map((column, place) => option(place, isolated(column.name)));
  element("colour").append(option("cluster", "Cluster"), ...(truth ? [option("label", "Given label")] : []), option("probability", "Probability"), option("outlier", "Outlier score"));
  if (others.length) element("colour").append(make("optgroup", { label: "Columns" }, ...others));
  element("colour").addEventListener("change", () => showColour(element("colour").value));
}

// Search when nothing has been typed for a moment.
function listenToSearch() {
  let waiting = 0;
  element("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const text = element("search").value;
      choose(text.trim() ? findPoints(text) : () => false);
    }, 200);
  });
}

function clear() {
  element("search").value = "";
  choose(() => false);
}

function showTheme(dark) {
  useTheme(dark);
  paintTheme();
  showNumber(state.number);
}

function describePictures() {
  const k = state.clusters.length;
  const noise = percent(countNoise() / n);
  const clusters = countClusters(k);
  element("fact-clusters").textContent = count(k);
  element("fact-noise").textContent = noise;
  if (truth) {
    const agreement = agreementWithTruth();
    element("fact-agreement").hidden = Number.isNaN(agreement);
    element("fact-agreement").querySelector("dd").textContent = agreement.toFixed(3);
  }
  const largest = state.clusters.slice(0, 10).map((cluster, label) => `cluster ${label} ${count(state.sizes[label])} points`).join(", ");
  element("embedding-text").textContent = `Scatter plot of ${count(n)} points in two dimensions, ${state.view.axes.join(" and ")}: ${clusters}, ${noise} noise. ${largest}.`;
  const walls = state.clusters.map((cluster, label) => `cluster ${label} up to ${short(cluster.birth)}`).slice(0, 10).join(", ");
  element("reachability-text").textContent = `Bar chart of the distance at which each point joins the one before it; ${k} coloured valleys. They part at these distances: ${walls}.`;
  const lives = state.clusters.map((cluster, label) => `cluster ${label} from ${short(cluster.birth)} down to ${short(cluster.death)}`).slice(0, 10).join(", ");
  element("tree-text").textContent = `Icicle of candidate clusters by distance; coloured are ${lives}.`;
  const best = data.scores.indexOf(Math.max(...data.scores)) + 1;
  element("scores-text").textContent = `Line chart of how well each number of clusters fits, for 1 to ${data.scores.length} clusters, highest for ${best}; shown are ${k}.`;
}

async function download() {
  const parts = [];
  const name = state.nSelected ? "selection.csv" : "clusters.csv";
  for (const part of selectionAsCsv()) {
    parts.push(part);
    await nextTask();
  }
  const blob = new Blob(parts, { type: "text/csv;charset=utf-8" });
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function useTheme(dark) {
  state.dark = dark;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  element("theme").setAttribute("aria-pressed", String(dark));
}

async function start() {
  for (const name of Object.keys(data.pictures).reverse()) { // the first takes longest, so that it is a simple one
    await nextTask();
    await drawPicture(name);
  }
  findModels();
  await nextTask();
  startScatter(models.figures.embedding, thinNames);
  listenToPictures({ choose, hover, ask: showNumber });
  element("number").max = data.numbers.length;
  element("number").addEventListener("input", () => showNumber(Number(element("number").value)));
  element("fitted").addEventListener("click", () => showNumber(0));
  if (element("view")) element("view").addEventListener("change", () => showView(views[element("view").value]));
  offerLayers();
  offerColours();
  offerColumns();
  listenToSearch();
  element("cluster-name").addEventListener("change", () => { nameCluster(wholeCluster(), element("cluster-name").value); showNames(); });
  element("clear").addEventListener("click", clear);
  element("download").addEventListener("click", download);
  element("theme").addEventListener("click", () => showTheme(!state.dark));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });
  document.addEventListener("pointermove", (event) => Object.assign(pointer, { x: event.clientX, y: event.clientY, pressed: event.buttons > 0 }), { passive: true });
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  preferred.addEventListener("change", () => showTheme(preferred.matches));
  await nextTask();
  paintTheme();
  showNumber(0);
  pieces.push(() => { document.documentElement.dataset.ready = "yes"; });
}

useTheme(window.matchMedia("(prefers-color-scheme: dark)").matches);
for (const [name, sheet] of Object.entries(data.thumbnails || {})) {
  // As a file of its own, since a style may not be as long as a sheet of thousands of pictures.
  const file = new Blob([unpack(sheet.source, Uint8Array)], { type: "image/webp" });
  document.documentElement.style.setProperty(`--sheet-${name}`, `url(${URL.createObjectURL(file)})`);
}
start();
