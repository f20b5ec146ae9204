// The page of a comparison: its colours, and the heat maps of the example that is chosen.

const choice = document.getElementById("theme"), chosen = document.getElementById("example");
const stretch = document.getElementById("stretch"), room = document.querySelector("main");
const system = matchMedia("(prefers-color-scheme: dark)"), paper = matchMedia("print");
const examples = [...document.querySelectorAll(".example")];
const maps = new Map(); // box -> its heat map, of the example that is shown

function theme() {
  if (paper.matches) return "light";
  return choice.value || (system.matches ? "dark" : "light");
}

function stretched() {
  return Boolean(stretch?.checked);
}

/** A heat map in the figure of one design's answer. */
function place(figure) {
  const map = data.maps[Number(figure.dataset.map)];
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const stage = make("div", { class: "stage", tabindex: "0", role: "application", "aria-roledescription": "heat map",
    "aria-label": `Heat map of ${brief(map.caption)}: ${brief(map.text)}. ${map.target.length} rows, ${map.source.length} columns.` });
  const box = make("div", { class: "scroll" }, stage), heatmap = new HeatMap(map, { stage, readout });
  const numbers = make("details", {}, make("summary", {}, "Numbers"));
  numbers.addEventListener("toggle", () => {
    if (numbers.open && numbers.children.length === 1) {
      numbers.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Weights" }, heatmap.table()));
    }
  });
  figure.replaceChildren(figure.querySelector("figcaption"), box, readout, make("div", { class: "more" }, numbers));
  return { box, heatmap };
}

/** The example of that number alone. */
function show() {
  watch.disconnect();
  maps.clear();
  examples.forEach((node, number) => { node.hidden = String(number) !== chosen.value; });
  const node = examples[Number(chosen.value)];
  const drawn = [...node.querySelectorAll("figure[data-map]")].map(place);
  for (const { heatmap } of drawn) heatmap.others = drawn.map((one) => one.heatmap).filter((one) => one.twin(heatmap));
  for (const one of drawn) {
    maps.set(one.box, one);
    fit(one);
    watch.observe(one.box);
  }
}

/** As much room as the page has, or a third of it where it is wide: designs stand side by side. */
function fit({ box, heatmap }) {
  const all = room.clientWidth - (room.clientWidth > 640 ? 58 : 46);
  const beside = Math.min(box.closest(".maps").children.length, 3);
  heatmap.size(Math.max(Math.min(all, 300), all / beside - 38));
}

const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) maps.get(target)?.heatmap.draw();
    else maps.get(target)?.heatmap.forget();
  }
}, { rootMargin: "300px" });

function paint() {
  if (choice.value) document.documentElement.dataset.theme = choice.value;
  else delete document.documentElement.dataset.theme;
  for (const { heatmap } of maps.values()) if (heatmap.drawn || paper.matches) heatmap.draw();
}

let width = 0;
const resized = new ResizeObserver(() => {
  if (room.clientWidth !== width) maps.forEach(fit);
  width = room.clientWidth;
});

document.documentElement.classList.add("ready");
choice.value = document.documentElement.dataset.theme ?? "";
for (const control of [choice, stretch]) control?.addEventListener("input", paint);
for (const query of [system, paper]) query.addEventListener("change", paint);
if (chosen) {
  chosen.addEventListener("input", show);
  show();
  resized.observe(room);
}
