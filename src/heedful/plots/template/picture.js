// What the source of a map is, over its columns: a spectrogram or an image.

const APART = 4, TALLEST = 240, SPECTROGRAM = 110;

/** The pixels that a picture over a map of this width takes, with the gap below it: an image in its proportions. */
function pictureHeight(picture, width) {
  const [rows, columns] = picture.shape;
  const high = picture.kind === "image" ? Math.min(TALLEST, Math.max(12, (width * rows) / columns)) : SPECTROGRAM;
  return Math.round(high) + APART;
}

/** All pixels of a picture, as they are; of a spectrogram the lowest feature is at the bottom. */
function pixels(picture) {
  const [rows, columns] = picture.shape, levels = unpack(picture.levels, rows * columns);
  const [least, most] = picture.shown, image = new ImageData(columns, rows);
  const sound = picture.kind === "spectrogram", inked = sound && theme() === "light";
  levels.forEach((level, place) => {
    const share = Math.min(1, Math.max(0, (level / 255 - least) / (most - least || 1)));
    const grey = Math.round(255 * (inked ? 1 - share : share)), row = Math.floor(place / columns);
    image.data.set([grey, grey, grey, 255], 4 * ((sound ? rows - 1 - row : row) * columns + (place % columns)));
  });
  const canvas = make("canvas", { width: columns, height: rows });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** The picture, cut so that over each column of weights is what that column is about. */
function drawPicture(picture, { columns, cell, over, left, top }) {
  const high = over - APART, whole = pixels(picture);
  const canvas = make("canvas", { class: "picture", width: columns * cell, height: high, "aria-hidden": "true" });
  const onto = canvas.getContext("2d");
  onto.imageSmoothingEnabled = false;
  picture.cells.forEach(([from, to], column) =>
    onto.drawImage(whole, from * whole.width, 0, (to - from) * whole.width, whole.height, column * cell, 0, cell, high));
  Object.assign(canvas.style, { left: `${left}px`, top: `${top - over}px`, width: `${columns * cell}px`, height: `${high}px` });
  return canvas;
}
