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

const SEEN = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\u{13430}-\u{1343f}]/u;
const BLANK = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffe\uffff]/u;
const JOINER = /[\u200c\u200d]/u, SELECTOR = /[\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
const TAG = /[\u{e0020}-\u{e007f}]/u, FLAG = "\u{1f3f4}", JOINS = /[\p{L}\p{M}\p{S}]/u;
const VIRAMA = /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]/u;

/** Whether the character between these two is not to be seen, or changes their order: see heedful.alignment.labels. */
function hidden(before, char, after) {
  if (JOINER.test(char)) return !(JOINS.test(before) && (JOINS.test(after) || VIRAMA.test(before)));
  if (SELECTOR.test(char)) return !before;
  if (TAG.test(char)) return !(before === FLAG || TAG.test(before));
  return BLANK.test(char) && !SEEN.test(char);
}

/** The label with characters made visible that cannot be seen. */
function shown(label) {
  const code = (char) => "U+" + char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  const chars = Array.from(label);
  if (/^\p{Zs}+$/u.test(label)) return chars.map((char) => (char === " " ? "␣" : code(char))).join("");
  return chars.map((char, place) =>
    hidden(chars[place - 1] ?? "", char, chars[place + 1] ?? "") ? code(char) : char).join("");
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

const LONG = 240;

/** A text; of a long one three lines, with a button for the rest. */
function passage(text) {
  const whole = make("bdi", { class: "text" }, text);
  if (text.length <= LONG) return [whole];
  whole.classList.add("cut");
  const button = make("button", { type: "button", class: "whole", "aria-expanded": "false" }, "show all of it");
  button.addEventListener("click", () => {
    const cut = whole.classList.toggle("cut");
    button.setAttribute("aria-expanded", String(!cut));
    button.textContent = cut ? "show all of it" : "show three lines";
  });
  return [whole, button];
}

/** The beginning of a long text. */
function brief(text) {
  return text.length <= LONG ? text : Array.from(text).slice(0, LONG - 1).join("") + "…";
}

function makeSvg(name, attributes = {}, text = null) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  return node;
}
