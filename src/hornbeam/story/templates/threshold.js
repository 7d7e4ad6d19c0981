/* A column of a node with a threshold that can be dragged: how impure both sides are is computed here, from the
   rows on the page. */
const IMPURITIES = {
  gini: (cell) => { const n = cell.n || 1; return 1 - cell.counts.reduce((sum, count) => sum + (count / n) ** 2, 0); },
  entropy: (cell) => cell.counts.reduce((sum, count) => sum - (count ? (count / cell.n) * Math.log2(count / cell.n) : 0), 0),
  misclassification: (cell) => 1 - Math.max(...cell.counts) / (cell.n || 1),
  variance: (cell) => Math.max(0, cell.squares / (cell.n || 1) - (cell.sum / (cell.n || 1)) ** 2),
  half_deviance: (cell) => {
    const mean = cell.sum / (cell.n || 1);
    return Math.max(0, cell.logs / (cell.n || 1) - (mean > 0 ? mean * Math.log(mean) : 0));
  },
};
const IMPURITY_WORDS = { gini: "Gini index", entropy: "entropy", misclassification: "share of errors", variance: "variance", half_deviance: "half deviance" };

const cellOf = (rows) => {
  const cell = { n: rows.length, counts: data.classes ? data.classes.map(() => 0) : null, sum: 0, squares: 0, logs: 0 };
  rows.forEach((row) => {
    const y = data.target[row];
    if (cell.counts) { cell.counts[y] += 1; return; }
    cell.sum += y;
    cell.squares += y * y;
    cell.logs += y > 0 ? y * Math.log(y) : 0;
  });
  return cell;
};

/* Both sides of a threshold, and what it gains. */
const parted = (rows, values, threshold, impurity) => {
  const left = cellOf(rows.filter((row) => values[row] <= threshold)), right = cellOf(rows.filter((row) => values[row] > threshold));
  const measure = IMPURITIES[impurity], before = measure(cellOf(rows));
  const after = (left.n * measure(left) + right.n * measure(right)) / (rows.length || 1);
  return { left, right, before, after, gain: before - after };
};
const thresholdsOf = (rows, values) => {
  const sorted = [...new Set(rows.map((row) => values[row]))].sort((a, b) => a - b);
  return sorted.slice(1).map((value, k) => (value + sorted[k]) / 2);
};
const sideWords = (cell, impurity) => {
  const held = cell.counts
    ? data.classes.map((name, code) => [cell.counts[code], name]).filter(([count]) => count).map(([count, name]) => `${count} ${name}`).slice(0, 4).join(", ")
    : `mean ${number(cell.sum / (cell.n || 1))}`;
  return `${cell.n} row${cell.n === 1 ? "" : "s"} (${held || "none"}), ${IMPURITY_WORDS[impurity]} ${number(IMPURITIES[impurity](cell), 3)}`;
};

const thresholdPanel = (parent, chapter) => {
  const made = panel(parent, "Drag the threshold");
  const what = html("p", { class: "note" }, made);
  const holder = html("div", {}, made);
  const steer = html("div", {}, made);
  const said = html("p", { class: "note", "aria-live": "polite", "data-said": "" }, made);

  const show = (rows, column, threshold) => {
    [holder, steer].forEach(clear);
    said.textContent = "";
    const axis = chapter.columns[column];
    if (!axis) { what.textContent = column < 0 ? "There is no column of numbers here." : "The values of this column are not on the page."; return; }
    const values = chapter.values[column], known = rows.filter((row) => values[row] !== null);
    if (axis.categories) { what.textContent = `${axis.name} has categories; the test asks which of them a row has.`; return; }
    const candidates = thresholdsOf(known, values);
    if (!candidates.length) { what.textContent = `All rows here have the same ${axis.name}: nothing to divide.`; return; }
    what.textContent = `${known.length} row${known.length === 1 ? "" : "s"} of this node by ${axis.name}; the curve is what each threshold gains.`;
    const low = Math.min(...known.map((row) => values[row])), high = Math.max(...known.map((row) => values[row]));
    const local = { name: axis.name, low, high, categories: null };
    const gains = candidates.map((at) => parted(known, values, at, chapter.impurity).gain);
    const most = Math.max(...gains, 1e-12);
    const upright = data.classes
      ? { name: "gain", low: 0, high: most * 2.2, categories: null }
      : { name: data.target_name, low: lowTarget, high: highTarget, categories: null };
    const picture = plane(holder, local, upright, `Rows by ${axis.name}, and what thresholds gain`, 260);
    const place = data.classes ? picture.placeY : scale(0, most, picture.height - BOTTOM, picture.height - BOTTOM - 90);
    known.forEach((row) => {
      const y = data.classes ? picture.placeY(most * 1.65) + 42 * jitter(row) * 2 * 0.55 : picture.placeY(data.target[row]);
      draw("circle", { class: `point fill-${colourOfRow(row)}`, cx: picture.placeX(values[row]), cy: y, r: 4, "fill-opacity": 0.8 }, picture.front);
    });
    draw("path", { class: "line stroke-green", d: course(candidates.map((at, k) => [picture.placeX(at), place(gains[k])])) }, picture.front);
    const cut = draw("line", { class: "cut", y1: TOP, y2: picture.height - BOTTOM }, picture.svg);
    const dot = draw("circle", { class: "handle", r: 7 }, picture.svg);
    const means = data.classes ? null : [0, 1].map(() => draw("line", { class: "stroke-red", "stroke-width": 2 }, picture.front));
    const best = gains.indexOf(Math.max(...gains));
    const moveTo = (at) => {
      const found = parted(known, values, at, chapter.impurity);
      cut.setAttribute("x1", picture.placeX(at));
      cut.setAttribute("x2", picture.placeX(at));
      dot.setAttribute("cx", picture.placeX(at));
      dot.setAttribute("cy", place(Math.max(0, found.gain)));
      if (means) [[found.left, low, at], [found.right, at, high]].forEach(([cell, from, to], k) => {
        const y = picture.placeY(cell.n ? cell.sum / cell.n : lowTarget);
        Object.entries({ x1: picture.placeX(from), x2: picture.placeX(to), y1: y, y2: y }).forEach(([key, value]) => means[k].setAttribute(key, value));
      });
      control.say(`${axis.name} <= ${number(at, 5)}`);
      said.textContent = `Yes: ${sideWords(found.left, chapter.impurity)}. No: ${sideWords(found.right, chapter.impurity)}. `
        + `Before ${number(found.before, 4)}, after ${number(found.after, 4)}: gain ${number(found.gain, 4)}`
        + ` (best here ${number(gains[best], 4)} at ${number(candidates[best], 5)}).`;
      said.dataset.gain = found.gain;
    };
    const control = slider(steer, "", 0, candidates.length - 1, 0, 1, (k) => moveTo(candidates[k]));
    const nearest = (at) => candidates.reduce((near, one, k) => (Math.abs(one - at) < Math.abs(candidates[near] - at) ? k : near), 0);
    draggable(picture.svg, ([x]) => { const k = nearest(picture.fromX(x)); control.input.value = k; moveTo(candidates[k]); });
    const begin = threshold === null || threshold === undefined ? best : nearest(threshold);
    control.input.value = begin;
    moveTo(candidates[begin]);
  };
  return { show };
};
