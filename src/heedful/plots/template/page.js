// The page: its head, the list of pairs, finding and sorting, light and dark.

const find = document.getElementById("find"), sort = document.getElementById("sort"), of = document.getElementById("of");
const order = document.getElementById("order"), list = document.getElementById("pairs");
const choice = document.getElementById("theme"), stretch = document.getElementById("stretch");
const system = matchMedia("(prefers-color-scheme: dark)");
const CHUNK = 24;
const meanings = new Map([
  ["score", "how likely the model finds the target: its log-probability in nats, by default divided by its length; the nearer to 0 the better"],
  ["difference", "how far the two maps of a pair are apart: 0 the same, 1 nothing in common"],
  ...data.measures,
]);
const captions = [...new Set(data.pairs.flatMap((pair) => pair.maps.map((map) => map.caption)))];
let found = [], made = 0;
const maps = new Map(); // box -> its heat map, of the pairs that are in the page

function theme() {
  return choice.value || (system.matches ? "dark" : "light");
}

function stretched() {
  return stretch.checked;
}

/** What pairs can be sorted by: name -> the number of a pair, null where it has none. */
function keys() {
  const chosen = (pair) => pair.maps.find((map) => map.caption === of.value);
  const of_map = (read) => (pair) => { const map = chosen(pair); return map ? read(map) : null; };
  const found = new Map([
    ["line", (pair) => pair.line],
    ["source length", of_map((map) => map.source.length)],
    ["target length", of_map((map) => map.target.length)],
  ]);
  if (data.pairs.some((pair) => pair.maps.some((map) => map.score !== null))) found.set("score", of_map((map) => map.score));
  if (data.pairs.some((pair) => difference(pair) !== null)) found.set("difference", difference);
  names.forEach((name, place) => found.set(name, of_map((map) => map.measures[place])));
  return found;
}

/** What a fact at the head means, where its name does not say it. */
function about(name) {
  return name.split(",")[0] !== "signature" ? {} : { title: "forced: the targets are given, and the model is made to write " +
    "them; otherwise they are its own answers, found by a search with these settings" };
}

function head() {
  document.getElementById("facts").append(...data.facts.map(([name, value]) =>
    make("div", {}, make("dt", about(name), name), make("dd", about(name), value))));
  if (!data.measures.length) document.getElementById("checks").remove();
  sort.append(...[...by.keys()].map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
  of.append(...captions.map((caption) => make("option", { value: caption }, caption || "map")));
  document.getElementById("of-label").hidden = captions.length < 2;
}

/** The table of health checks: of the chosen maps of all pairs. */
function summary() {
  const rows = data.measures.map(([name, meaning], place) => {
    const values = data.pairs.map(by.get(name)).filter((value) => value !== null).sort((a, b) => a - b);
    const at = (share) => figure(values[Math.round(share * (values.length - 1))]);
    const button = make("button", { type: "button", title: `Sort by ${name}` }, name.replaceAll("_", " "));
    button.addEventListener("click", () => { sort.value = name; show(); document.getElementById("tools").scrollIntoView(); });
    return make("tr", {}, make("th", { scope: "row" }, button), make("td", {}, at(0)), make("td", {}, at(0.5)),
      make("td", {}, at(1)), make("td", {}, histogram(name, values)), make("td", {}, meaning));
  });
  document.querySelector("#measures tbody").replaceChildren(...rows);
}

function histogram(name, values) {
  const bins = new Array(20).fill(0);
  for (const value of values) bins[Math.min(19, Math.max(0, Math.floor(value * 20)))] += 1;
  const most = Math.max(1, ...bins);
  const svg = makeSvg("svg", { class: "histogram", width: 120, height: 24, role: "img",
    "aria-label": `${name}: pairs in each twentieth from 0 to 1: ${bins.join(", ")}` });
  bins.forEach((count, bin) => {
    const high = count ? Math.max(1.5, (22 * count) / most) : 0;
    svg.append(makeSvg("rect", { x: bin * 6, y: 23 - high, width: 5, height: high }));
  });
  svg.append(makeSvg("path", { d: "M0 23.5h120" }));
  return svg;
}

/** The pairs that hold the text, in order. */
function choose() {
  const text = find.value.trim().toLowerCase(), read = by.get(sort.value), sign = order.value === "down" ? -1 : 1;
  const holds = (pair) => [pair.source, pair.given ?? "", ...pair.maps.map((map) => map.text)]
    .some((part) => part.toLowerCase().includes(text));
  const keyed = data.pairs.filter((pair) => !text || holds(pair)).map((pair) => [read(pair), pair]);
  keyed.sort(([a, one], [b, other]) =>
    (a === null) - (b === null) || sign * (a - b) || one.line - other.line);
  return keyed.map(([, pair]) => pair);
}

function show() {
  found = choose();
  made = 0;
  watch.disconnect();
  maps.clear();
  list.replaceChildren();
  const all = data.pairs.length.toLocaleString("en");
  document.getElementById("count").textContent = found.length === data.pairs.length
    ? `${all} ${all === "1" ? "pair" : "pairs"}` : `${found.length.toLocaleString("en")} of ${all} pairs`;
  document.getElementById("meaning").textContent = meanings.has(sort.value)
    ? `${sort.value.replaceAll("_", " ")}: ${meanings.get(sort.value)}` : "";
  more();
}

/** Some more pairs at the end of the list: a thousand at once would take long. */
function more() {
  const next = found.slice(made, made + CHUNK);
  made += next.length;
  const fresh = next.map(card);
  list.append(...fresh.map(({ node }) => node));
  for (const one of fresh.flatMap(({ drawn }) => drawn)) {
    maps.set(one.box, one);
    fit(one);
    watch.observe(one.box);
  }
}

function card(pair) {
  const id = `pair-${pair.line}`, drawn = [];
  const [source, ...button] = passage(pair.source);
  const title = make("h2", { id }, make("span", { class: "line" }, `line ${pair.line}`), " ", source);
  const node = make("article", { class: "pair", "aria-labelledby": id }, title, ...button);
  if (pair.given !== null && pair.maps.some((map) => map.text !== pair.given)) {
    node.append(make("p", { class: "given" }, "given target: ", ...passage(pair.given)));
  }
  const value = by.get(sort.value)(pair);
  if (!["line", "score", "source length", "target length"].includes(sort.value)) {
    title.append(" ", make("span", { class: "key" }, `${sort.value.replaceAll("_", " ")} ${figure(value)}`));
  }
  node.append(make("div", { class: "maps" }, ...pair.maps.map((map) => part(pair, map, drawn))));
  for (const { heatmap } of drawn) heatmap.others = drawn.map((one) => one.heatmap).filter((one) => one.twin(heatmap));
  return { node, drawn };
}

/** One map with all that belongs to it. */
function part(pair, map, drawn) {
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const stage = make("div", { class: "stage", tabindex: "0", role: "application", "aria-roledescription": "heat map",
    "aria-label": `Heat map: ${brief(pair.source)} → ${brief(map.text)}. ${map.target.length} rows, ${map.source.length} columns.` });
  const box = make("div", { class: "scroll" }, stage);
  const heatmap = new HeatMap(map, { stage, readout });
  drawn.push({ box, heatmap });
  const caption = make("figcaption", {});
  if (map.caption) caption.append(make("span", { class: "caption" }, map.caption), " ");
  caption.append(...passage(map.text));
  if (map.score !== null) caption.append(" ", make("span", { class: "score", title: meanings.get("score") }, `score ${figure(map.score, 3)}`));
  const checks = make("details", {}, make("summary", {}, "Checks"), make("ul", { class: "checks" },
    ...names.map((name, place) => make("li", name === sort.value ? { class: "lit" } : {},
      make("span", {}, name.replaceAll("_", " ")), " ", make("b", {}, figure(map.measures[place]))))));
  const numbers = make("details", {}, make("summary", {}, "Numbers"));
  numbers.addEventListener("toggle", () => {
    if (numbers.open && numbers.children.length === 1) {
      numbers.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Weights" }, heatmap.table()));
    }
  });
  return make("figure", {}, caption, box, readout, make("div", { class: "more" }, checks, numbers));
}

/** The room for one map: a card's width, or its share where several stand side by side and are not too narrow for it. */
function fit({ box, heatmap }) {
  const several = box.closest(".maps").children.length, all = list.clientWidth - (list.clientWidth > 640 ? 60 : 44);
  heatmap.size(several > 1 ? Math.max(Math.min(all, 300), all / Math.min(several, 3) - 28) : all);
}

const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const one = maps.get(target);
    if (isIntersecting) one?.heatmap.draw();
    else one?.heatmap.forget();
  }
}, { rootMargin: "300px" });

const end = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && more(), { rootMargin: "600px" });

function paint() {
  if (choice.value) document.documentElement.dataset.theme = choice.value;
  else delete document.documentElement.dataset.theme;
  const image = new ImageData(256, 1), ramp = ramps[theme()];
  for (let level = 0; level < 256; level++) image.data.set([...ramp.slice(3 * level, 3 * level + 3), 255], 4 * level);
  document.getElementById("ramp").getContext("2d").putImageData(image, 0, 0);
  document.getElementById("most").textContent = stretched() ? "largest" : "1";
  for (const { heatmap } of maps.values()) if (heatmap.drawn) heatmap.draw();
}

let width = 0;
const resized = new ResizeObserver(() => {
  if (list.clientWidth !== width) maps.forEach(fit);
  width = list.clientWidth;
});

of.value = captions[0];
const by = keys();
choice.value = document.documentElement.dataset.theme ?? "";
head();
of.value = captions[0] ?? "";
summary();
document.getElementById("about").open = matchMedia("(min-width: 900px)").matches;
document.getElementById("made").open = matchMedia("(min-width: 640px)").matches;
for (const control of [find, sort]) control.addEventListener("input", show);
of.addEventListener("input", () => { summary(); show(); });
order.addEventListener("click", () => {
  order.value = order.value === "down" ? "up" : "down";
  order.textContent = order.value === "down" ? "descending" : "ascending";
  order.setAttribute("aria-pressed", String(order.value === "down"));
  show();
});
document.getElementById("tools").addEventListener("submit", (event) => event.preventDefault());
for (const control of [choice, stretch]) control.addEventListener("input", paint);
system.addEventListener("change", paint);
paint();
show();
end.observe(document.getElementById("more"));
resized.observe(list);
