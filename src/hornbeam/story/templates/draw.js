/* Drawing: elements, colours, numbers, and planes with axes. Text is only ever set as text, never as markup:
   names of columns, classes and categories are other people's. */
const data = JSON.parse(document.getElementById("story-data").textContent);
const CHAPTERS = {}; // each chapter's script adds itself: (section, chapter) => nothing
const COLOURS = ["blue", "orange", "green", "pink", "sky", "red", "yellow", "grey"];
const colourOf = (code) => COLOURS[Math.min(code, COLOURS.length - 1)];

const html = (name, attributes, parent) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "text") made.textContent = value; else made.setAttribute(key, value);
  }
  if (parent) parent.append(made);
  return made;
};
const draw = (name, attributes, parent, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};
const number = (value, digits = 4) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "missing";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = String(Number(value.toPrecision(digits)));
  return text.startsWith("-") ? `−${text.slice(1)}` : text;
};
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
const cutText = (text, most) => {
  const letters = Array.from(text);
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
};
const scale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

const ticksOf = (low, high, most = 5) => {
  const raw = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999);
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) ticks.push(at);
  return ticks;
};

/* Colours of rows: by class, or for numbers from faint to strong. */
const lowTarget = data.classes ? 0 : Math.min(...data.target), highTarget = data.classes ? 1 : Math.max(...data.target);
const colourOfRow = (row) => (data.classes ? colourOf(data.target[row]) : "blue");
const strengthOfRow = (row) => (data.classes ? 0.9 : 0.2 + 0.75 * ((data.target[row] - lowTarget) / (highTarget - lowTarget || 1)));
const truthOf = (row) => (data.classes ? data.classes[data.target[row]] : number(data.target[row]));

/* A plane with two axes; places() turns values into points of the picture. */
const WIDTH = 440, HEIGHT = 300, LEFT = 58, BOTTOM = 40, TOP = 10, RIGHT = 12;
const spread = (axis) => {
  const margin = axis.categories ? 0.5 : (axis.high - axis.low) * 0.04;
  return [axis.low - margin, axis.high + margin];
};
const plane = (parent, x, y, label, height = HEIGHT) => {
  const svg = draw("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label }, parent);
  const [x0, x1] = spread(x), [y0, y1] = spread(y);
  const placeX = scale(x0, x1, LEFT, WIDTH - RIGHT), placeY = scale(y0, y1, height - BOTTOM, TOP);
  const back = draw("g", {}, svg);
  draw("rect", { class: "frame", x: LEFT, y: TOP, width: WIDTH - RIGHT - LEFT, height: height - BOTTOM - TOP }, svg);
  const marks = (axis, most) => (axis.categories
    ? axis.categories.map((name, code) => [code, cutText(name, most < 9 ? 8 : 10)]).filter((_, code, all) => code % Math.ceil(all.length / 7) === 0)
    : ticksOf(axis.low, axis.high).map((at) => [at, number(at)]));
  marks(x, 10).forEach(([at, name]) => draw("text", { class: "middle", x: placeX(at), y: height - BOTTOM + 15 }, svg, name));
  marks(y, 8).forEach(([at, name]) => draw("text", { class: "end", x: LEFT - 6, y: placeY(at) + 4 }, svg, name));
  draw("text", { class: "middle ink", x: (LEFT + WIDTH - RIGHT) / 2, y: height - 6 }, svg, cutText(x.name, 56));
  const middle = (TOP + height - BOTTOM) / 2;
  draw("text", { class: "middle ink", x: 11, y: middle, transform: `rotate(-90 11 ${middle})` }, svg, cutText(y.name, 36));
  return { svg, back, front: draw("g", {}, svg), placeX, placeY, x0, x1, y0, y1, height,
    fromX: scale(LEFT, WIDTH - RIGHT, x0, x1), fromY: scale(height - BOTTOM, TOP, y0, y1) };
};
const jitter = (row) => ((row * 0.6180339887) % 1) - 0.5; // the same for a row each time it is drawn
const spotOf = (axis, value, row, low) => (value === null ? low : axis.categories ? value + 0.5 * jitter(row) : value);

/* A polyline over points, and its picture. */
const course = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

const legendOf = (parent) => {
  const legend = html("p", { class: "legend" }, parent);
  if (!data.classes) {
    legend.textContent = `The stronger the colour, the larger ${data.target_name}.`;
    return;
  }
  data.classes.slice(0, COLOURS.length).forEach((name, code) => {
    const item = html("span", { class: "legend-item" }, legend);
    const picture = draw("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, item);
    draw("circle", { class: `fill-${colourOf(code)}`, cx: 6, cy: 6, r: 5 }, picture);
    html("span", { text: name }, item);
  });
};
const panel = (parent, title) => {
  const made = html("div", { class: "panel" }, parent);
  html("h3", { text: title }, made);
  return made;
};
const clear = (element) => { element.replaceChildren(); return element; };
/* The point of a picture that a pointer is at, in the picture's own units. */
const pointerIn = (svg, event) => {
  const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
  return [((event.clientX - box.left) / box.width) * view.width, ((event.clientY - box.top) / box.height) * view.height];
};
const draggable = (svg, move) => {
  let held = false;
  svg.addEventListener("pointerdown", (event) => { held = true; svg.setPointerCapture(event.pointerId); move(pointerIn(svg, event)); });
  svg.addEventListener("pointermove", (event) => { if (held) move(pointerIn(svg, event)); });
  ["pointerup", "pointercancel"].forEach((name) => svg.addEventListener(name, () => { held = false; }));
};
const slider = (parent, text, low, high, value, step, changed) => {
  const label = html("label", {}, parent);
  const words = html("span", { text }, label);
  const input = html("input", { type: "range", min: low, max: high, step, value }, parent);
  input.setAttribute("aria-label", text);
  input.addEventListener("input", () => changed(Number(input.value)));
  return { input, say: (said) => { words.textContent = said; input.setAttribute("aria-valuetext", said); } };
};
