// What the page is made of, and how its packed numbers are read.

const data = JSON.parse(document.getElementById("data").textContent);
const names = data.measures.map(([name]) => name);
const START = "▷";

/** The bytes of base64. */
function bytes(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** Packed weights, 0..255: a byte stands for itself, but 0 is followed by how many zeros there are. */
function unpack(text, size) {
  const packed = bytes(text), levels = new Uint8Array(size);
  for (let from = 0, to = 0; from < packed.length; from++) {
    if (packed[from]) levels[to++] = packed[from];
    else to += packed[++from];
  }
  return levels;
}

const ramps = { light: bytes(data.ramps.light), dark: bytes(data.ramps.dark) };

/** The label with characters made visible that cannot be seen. */
function shown(label) {
  if (/^ +$/.test(label)) return "␣".repeat(label.length);
  return label.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff]/gu, (char) =>
    "U+" + char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
}

/** For each row of a map the word that its weights are about. */
function rowLabels(map) {
  return map.convention === "predicted" ? map.target : [START, ...map.target].slice(0, map.target.length);
}

/** A number as people read it. */
function figure(value, digits = 2) {
  return value === null || value === undefined || Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−");
}

/** Half the mean L1 distance between the rows of two maps of one target: 0 the same, 1 nothing in common. */
function difference(pair) {
  if (pair.maps.length !== 2) return null;
  const [one, other] = pair.maps, rows = one.target.length, columns = one.source.length;
  if (!rows || one.target.join("\n") !== other.target.join("\n") || columns !== other.source.length) return null;
  const a = unpack(one.weights, rows * columns), b = unpack(other.weights, rows * columns);
  return a.reduce((sum, level, place) => sum + Math.abs(level - b[place]), 0) / 2 / 255 / rows;
}

/** An element with attributes and children; texts are only ever set as text. */
function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function makeSvg(name, attributes = {}, text = null) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  return node;
}
