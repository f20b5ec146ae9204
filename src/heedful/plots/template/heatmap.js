// One heat map: a canvas with a pixel a cell, enlarged, under an SVG with labels, links and entropy.

const LABEL = 132, BAR = 34, GAP = 8, SMALLEST = 15, LARGEST = 30, NARROWEST = 3, SPARSE = 36;
const FONT = 'system-ui, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", "Noto Sans Devanagari", "Noto Sans Hebrew", ' +
  '"Noto Color Emoji", "Apple Color Emoji", "Segoe UI Emoji", sans-serif';
const ruler = document.createElement("canvas").getContext("2d");
const segments = typeof Intl.Segmenter === "function" ? new Intl.Segmenter() : null;

function wide(text, size) {
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

/** The label, cut between two graphemes where it is longer than `most` pixels. */
function cut(label, size, most) {
  if (wide(label, size) <= most) return label;
  const parts = segments ? Array.from(segments.segment(label), (part) => part.segment) : Array.from(label);
  while (parts.length > 1 && wide(parts.join("") + "…", size) > most) parts.pop();
  return parts.join("") + "…";
}

/** Where everything is, in pixels, for a map in a box of `available` pixels. */
function layout(map, available) {
  const columns = map.source.length, rows = map.target.length;
  const named = { columns: map.source.map(shown), rows: rowLabels(map).map(shown) };
  const size = Math.max(columns, rows) > 30 ? 11.5 : 13;
  const left = Math.ceil(Math.min(Math.max(...named.rows.map((label) => wide(label, size))), LABEL)) + GAP;
  const room = (available - left - GAP - BAR - 2) / columns;
  // Under a picture columns may be narrow: not each has its label.
  const cell = Math.floor(Math.max(map.picture ? NARROWEST : SMALLEST, Math.min(LARGEST, room)));
  const tall = Math.max(cell, SMALLEST), every = map.picture ? Math.ceil(SPARSE / cell) : 1;
  const longest = Math.min(Math.max(...named.columns.map((label) => wide(label, size))), LABEL);
  const turned = longest > cell * every - 1;
  const lean = turned ? Math.PI / 3 : 0;
  const over = map.picture ? pictureHeight(map.picture, columns * cell) : 0;
  const top = Math.ceil(turned ? longest * Math.sin(lean) + size : size + GAP) + over;
  const past = turned ? Math.cos(lean) * Math.min(wide(named.columns[columns - 1], size), LABEL) : 0;
  const right = Math.max(GAP + BAR + 2, past - cell / 2 + GAP);
  return {
    rows, columns, cell, tall, every, over, size, left, top, turned,
    labels: {
      columns: named.columns.map((label) => cut(label, size, LABEL)),
      rows: named.rows.map((label) => cut(label, size, LABEL)),
    },
    width: Math.ceil(left + columns * cell + right),
    height: Math.ceil(top + rows * tall + size + 4),
  };
}

class HeatMap {
  constructor(map, { stage, readout }) {
    this.map = map;
    this.stage = stage;
    this.readout = readout;
    this.drawn = false;
    this.kept = null;
    this.place = null;
    this.others = []; // maps of the same size beside this one: they follow it
    this.rest();
    stage.addEventListener("pointermove", (event) => this.point(event));
    stage.addEventListener("pointerdown", (event) => this.point(event));
    stage.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch" && document.activeElement !== stage) this.clear();
    });
    stage.addEventListener("focus", () => this.place || this.go(0, Math.max(0, map.peaks[0] ?? 0)));
    stage.addEventListener("blur", () => this.clear());
    stage.addEventListener("keydown", (event) => this.key(event));
  }

  /** Weights and row entropies, 0..255; kept while the map is drawn, for each move of the pointer asks them. */
  get levels() {
    if (this.kept) return this.kept;
    const { weights, entropy, source, target } = this.map;
    const levels = { weights: unpack(weights, target.length * source.length), entropy: unpack(entropy, target.length) };
    if (this.drawn) this.kept = levels;
    return levels;
  }

  /** Whether a cell of the other map has a counterpart here. */
  twin(other) {
    return this !== other && this.map.source.length === other.map.source.length &&
      this.map.target.length === other.map.target.length;
  }

  /** Takes the place that it needs; what is on it comes with `draw`. */
  size(available) {
    if (!this.map.target.length || !this.map.source.length) return;
    this.at = layout(this.map, available);
    this.stage.style.width = `${this.at.width}px`;
    this.stage.style.height = `${this.at.height}px`;
    if (this.drawn) this.draw();
  }

  draw() {
    if (!this.at) return;
    this.drawn = true;
    this.stage.replaceChildren(this.cells(), this.overlay());
    if (this.map.picture) this.stage.prepend(drawPicture(this.map.picture, this.at));
    if (this.place) this.light(...this.place);
  }

  forget() {
    this.drawn = false;
    this.kept = null;
    this.stage.replaceChildren();
  }

  cells() {
    const { rows, columns, cell, tall, left, top } = this.at, levels = this.levels.weights;
    const canvas = make("canvas", { width: columns, height: rows, "aria-hidden": "true" });
    const image = new ImageData(columns, rows), ramp = ramps[theme()];
    const most = stretched() ? levels.reduce((one, other) => Math.max(one, other), 1) : 255;
    levels.forEach((level, place) => {
      const from = 3 * Math.round((255 * level) / most);
      image.data.set([ramp[from], ramp[from + 1], ramp[from + 2], 255], 4 * place);
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
    Object.assign(canvas.style, {
      left: `${left}px`, top: `${top}px`, width: `${columns * cell}px`, height: `${rows * tall}px`,
    });
    return canvas;
  }

  overlay() {
    const { rows, columns, cell, tall, left, top, width, height } = this.at;
    const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const lines = [
      ...Array.from({ length: rows + 1 }, (_, row) => `M${left} ${top + row * tall}h${columns * cell}`),
      ...Array.from({ length: columns + 1 }, (_, column) => column).filter((column) => cell > 5 || column % columns === 0)
        .map((column) => `M${left + column * cell} ${top}v${rows * tall}`),
    ];
    svg.append(makeSvg("path", { class: "grid", d: lines.join("") }));
    this.hover = makeSvg("g", { class: "hover" });
    svg.append(this.hover, this.links(), this.bars(), this.names());
    return svg;
  }

  names() {
    const { cell, tall, every, over, left, top, size, turned, labels } = this.at, group = makeSvg("g", { "font-size": size });
    this.named = { columns: [], rows: [] };
    labels.columns.forEach((label, column) => {
      if (column % every) label = "";
      const x = left + (column + 0.5) * cell, y = top - over - 5;
      const where = turned ? { transform: `translate(${x + size * 0.3} ${y}) rotate(-60)` } : { x, y, "text-anchor": "middle" };
      this.named.columns.push(makeSvg("text", { class: "label", ...where }, label));
    });
    labels.rows.forEach((label, row) => {
      const where = { x: left - GAP + 2, y: top + (row + 0.5) * tall + size * 0.35, "text-anchor": "end" };
      this.named.rows.push(makeSvg("text", { class: "label", ...where }, label));
    });
    group.append(...this.named.columns, ...this.named.rows);
    return group;
  }

  links() {
    const { cell, tall, left, top } = this.at, group = makeSvg("g", { class: "links" });
    const dots = this.map.peaks.map((column, row) =>
      column < 0 ? null : [left + (column + 0.5) * cell, top + (row + 0.5) * tall]);
    const path = dots.map((dot, row) => dot && `${row && dots[row - 1] ? "L" : "M"}${dot.join(" ")}`);
    group.append(makeSvg("path", { d: path.filter(Boolean).join("") }));
    for (const dot of dots) {
      if (dot) group.append(makeSvg("circle", { cx: dot[0], cy: dot[1], r: Math.max(2.2, tall * 0.14) }));
    }
    return group;
  }

  bars() {
    const { rows, columns, cell, tall, left, top, size } = this.at, group = makeSvg("g", { class: "bars" });
    const x = left + columns * cell + GAP, high = Math.min(7, tall - 6);
    this.levels.entropy.forEach((level, row) => {
      const y = top + (row + 0.5) * tall - high / 2;
      group.append(makeSvg("rect", { class: "track", x, y, width: BAR, height: high, rx: 1 }));
      group.append(makeSvg("rect", { x, y, width: (BAR * level) / 255, height: high, rx: 1 }));
    });
    group.append(makeSvg("text", { x: x + BAR / 2, y: top + rows * tall + size, "text-anchor": "middle" }, "entropy"));
    return group;
  }

  point(event) {
    if (!this.at) return;
    const box = this.stage.getBoundingClientRect(), { cell, tall, left, top, rows, columns } = this.at;
    const row = Math.floor((event.clientY - box.top - top) / tall);
    const column = Math.floor((event.clientX - box.left - left) / cell);
    if (row >= 0 && row < rows && column >= 0 && column < columns) this.go(row, column);
  }

  key(event) {
    if (!this.place) return;
    const [row, column] = this.place, { rows, columns } = this.at;
    const to = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1], Home: [row, 0], End: [row, columns - 1],
    }[event.key];
    if (!to || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.go(Math.min(Math.max(to[0], 0), rows - 1), Math.min(Math.max(to[1], 0), columns - 1));
  }

  go(row, column, lead = true) {
    if (lead) for (const other of this.others) other.go(row, column, false);
    if (!this.at || (this.place && this.place[0] === row && this.place[1] === column)) return;
    this.place = [row, column];
    const { columns } = this.at, map = this.map;
    const { weights, entropy } = this.levels, weight = weights[row * columns + column] / 255;
    const said = make("span");
    said.append(
      make("bdi", { class: "token" }, shown(map.source[column])), ` (source ${column + 1}) → `,
      make("bdi", { class: "token" }, shown(rowLabels(map)[row])), ` (target ${row + 1}): weight `,
      make("b", {}, weight.toFixed(3)), `, row entropy ${(entropy[row] / 255).toFixed(2)}`,
      map.peaks[row] === column ? ", linked" : "");
    this.readout.replaceChildren(said);
    this.readout.classList.add("live");
    if (this.drawn) this.light(row, column);
  }

  light(row, column) {
    const { cell, tall, over, left, top, rows, columns } = this.at;
    const x = left + column * cell, y = top + row * tall;
    this.hover.replaceChildren(
      makeSvg("rect", { x: left, y, width: columns * cell, height: tall }),
      makeSvg("rect", { x, y: top - over, width: cell, height: rows * tall + over }),
      makeSvg("rect", { class: "cell", x, y, width: cell, height: tall }));
    this.named.columns.forEach((label, place) => label.classList.toggle("lit", place === column));
    this.named.rows.forEach((label, place) => label.classList.toggle("lit", place === row));
  }

  clear(lead = true) {
    if (lead) for (const other of this.others) other.clear(false);
    this.place = null;
    this.rest();
    if (!this.drawn) return;
    this.hover.replaceChildren();
    for (const label of [...this.named.columns, ...this.named.rows]) label.classList.remove("lit");
  }

  rest() {
    this.readout.classList.remove("live");
    this.readout.textContent = "Point at a cell to read it.";
  }

  /** The same numbers as a table: for screen readers, and to copy. */
  table() {
    const { source, target } = this.map, columns = source.length, labels = rowLabels(this.map);
    const levels = this.levels.weights;
    const cell = (text, scope) => make("th", { scope }, make("bdi", {}, shown(text)));
    const head = make("tr", {}, make("td"), ...source.map((label) => cell(label, "col")));
    const rows = target.map((_, row) => make("tr", {}, cell(labels[row], "row"),
      ...source.map((_, column) => make("td", {}, (levels[row * columns + column] / 255).toFixed(2)))));
    return make("table", { class: "weights" }, make("thead", {}, head), make("tbody", {}, ...rows));
  }
}
