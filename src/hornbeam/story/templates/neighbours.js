/* Nearest neighbours, computed here: a question that can be moved, k and the kernel on sliders, the answer of every
   place in the background, and the error of leaving each row out. */
const KERNELS = {
  uniform: () => 1,
  distance: (d) => 1 / d,
  inverse_square: (d) => 1 / (d * d),
  gaussian: (d, h) => Math.exp(-(d * d) / (2 * h * h)),
};
const KERNEL_WORDS = { uniform: "all alike", distance: "1/d", inverse_square: "1/d²", gaussian: "e^(−d²/2h²)" };
const METRIC = {
  euclidean: (parts) => Math.sqrt(parts.reduce((sum, one) => sum + one * one, 0)),
  manhattan: (parts) => parts.reduce((sum, one) => sum + Math.abs(one), 0),
  chebyshev: (parts) => Math.max(...parts.map(Math.abs)),
};

CHAPTERS.neighbours = (section, chapter) => {
  const { axes, points, spread } = chapter, two = axes.length > 1;
  const rows = data.target.map((_, row) => row).filter((row) => points.every((values) => values[row] !== null));
  const state = { k: chapter.k, kernel: chapter.weights, h: chapter.bandwidth, at: axes.map((axis) => (axis.low + axis.high) / 2) };
  const GRID = 32, isCurve = !two && !data.classes; // one column, and numbers: a curve over it
  const distance = (at, row) => METRIC[chapter.metric](points.map((values, j) => (axes[j].categories ? Number(values[row] !== Math.round(at[j])) : (values[row] - at[j]) / spread[j])));
  const nearest = (at, k, without = -1) => rows.filter((row) => row !== without).map((row) => [distance(at, row), row]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, k);
  const answer = (found, kernel, h) => {
    const zero = found.length && found[0][0] === 0 && (kernel === "distance" || kernel === "inverse_square");
    const near = found.length ? found[0][0] : 0; // beside the nearest, or far away all would vanish
    const weigh = (d) => (zero ? Number(d === 0) : kernel === "gaussian" ? Math.exp(-(d - near) * (d + near) / (2 * h * h)) : KERNELS[kernel](d, h));
    const weights = found.map(([d]) => weigh(d)), total = weights.reduce((a, b) => a + b, 0) || 1;
    if (!data.classes) return { value: found.reduce((sum, [, row], j) => sum + weights[j] * data.target[row], 0) / total, weights, total };
    const shares = data.classes.map(() => 0);
    found.forEach(([, row], j) => { shares[data.target[row]] += weights[j] / total; });
    return { value: shares.indexOf(Math.max(...shares)), shares, weights, total };
  };
  const error = (k) => {
    const wrong = rows.map((row) => {
      const said = answer(nearest(points.map((values) => values[row]), k, row), state.kernel, state.h).value;
      return data.classes ? Number(said !== data.target[row]) : (said - data.target[row]) ** 2;
    });
    const mean = wrong.reduce((a, b) => a + b, 0) / (wrong.length || 1);
    return data.classes ? mean : Math.sqrt(mean);
  };
  const sizes = [1, 2, 3, 5, 7, 9, 11, 15, 21, 31, 45, 61, 91, 121, 181, 251].filter((k) => k < rows.length);

  const tell = (step) => (step
    ? `With ${sizes[step - 1]} neighbour${sizes[step - 1] === 1 ? "" : "s"}: ${data.classes ? `${percent(errors()[step - 1])} of the rows would be wrong` : `root mean squared error ${number(errors()[step - 1])}`}, each answered by the others.`
    : "Steps go from one neighbour to many; the sliders below set any number.");
  const ask = (step) => {
    if (!data.classes) {
      const falls = errors()[step - 1] < (step > 1 ? errors()[step - 2] : Infinity);
      return step < 2 ? null : { text: `From ${sizes[step - 2]} to ${sizes[step - 1]} neighbours: does the error of leaving rows out fall?`, ...mixed(falls ? "yes" : "no", ["yes", "no"]), why: "" };
    }
    const right = data.classes[answer(nearest(state.at, sizes[step - 1]), state.kernel, state.h).value];
    return { text: `The question is where the cross is. What do its ${sizes[step - 1]} nearest rows say?`, ...mixed(right, data.classes.slice(0, 4)), why: "" };
  };
  let cached = null;
  const errors = () => {
    const key = `${state.kernel} ${state.h}`;
    if (!cached || cached.key !== key) cached = { key, values: sizes.map(error) };
    return cached.values;
  };

  const player = playThrough(section, { steps: sizes.length, show: (step) => { if (step) { state.k = sizes[step - 1]; } render(); return tell(step); }, ask, name: "numbers of neighbours" });
  const panels = html("div", { class: "panels" }, section);
  const mapPanel = panel(panels, "The question and its neighbours"), holder = html("div", {}, mapPanel);
  const said = html("p", { class: "note", "aria-live": "polite", "data-said": "" }, mapPanel);
  if (isCurve) html("p", { class: "legend", text: "Orange: the answer at every place." }, mapPanel); else legendOf(mapPanel);
  const settings = panel(panels, "Settings");
  const kSlider = slider(settings, "", 1, rows.length, state.k, 1, (k) => { state.k = k; render(); });
  const choice = html("label", { text: "Weights " }, html("div", { class: "choices" }, settings));
  const select = html("select", {}, choice);
  Object.keys(KERNELS).forEach((name) => { html("option", { value: name, text: `${name}: ${KERNEL_WORDS[name]}` }, select); });
  select.value = state.kernel;
  const hSlider = slider(settings, "", -20, 20, 0, 1, (step) => { state.h = chapter.bandwidth * 10 ** (step / 10); render(); });
  select.addEventListener("change", () => { state.kernel = select.value; render(); });
  const notes = [];
  if (chapter.n_columns > axes.length) notes.push(`The model compares ${chapter.n_columns} columns; this page, ${axes.length} of them.`);
  if (chapter.own_metric !== chapter.metric) notes.push(`The model measures distances by ${chapter.own_metric}, this page by ${chapter.metric}.`);
  notes.push(chapter.scaled ? "Columns are scaled as in the model." : "Columns are not scaled: the one with larger numbers counts more.");
  html("p", { class: "note", text: notes.join(" ") }, settings);
  const curvePanel = panel(panels, "Each row answered by the others"), curveHolder = html("div", {}, curvePanel);
  html("p", { class: "note", text: "Few neighbours follow every row, many smooth the prediction." }, curvePanel);

  const background = (scene) => {
    if (isCurve) {
      const places = [...Array(121).keys()].map((k) => axes[0].low + (k / 120) * (axes[0].high - axes[0].low));
      draw("path", { class: "line stroke-orange", d: course(places.map((x) => [scene.placeX(x), scene.placeY(answer(nearest([x], state.k), state.kernel, state.h).value)])) }, scene.front);
      return;
    }
    const wide = (WIDTH - RIGHT - LEFT) / GRID, lines = two ? GRID : 1, high = (scene.height - BOTTOM - TOP) / lines;
    for (let line = 0; line < lines; line += 1) {
      for (let column = 0; column < GRID; column += 1) {
        const x = LEFT + column * wide, y = TOP + line * high;
        const at = two ? [scene.fromX(x + wide / 2), scene.fromY(y + high / 2)] : [scene.fromX(x + wide / 2)];
        const found = answer(nearest(at, state.k), state.kernel, state.h);
        const strength = data.classes ? 0.05 + 0.3 * found.shares[found.value] : 0.02 + 0.4 * ((found.value - lowTarget) / (highTarget - lowTarget || 1));
        draw("rect", { class: `fill-${data.classes ? colourOf(found.value) : "blue"}`, x, y, width: wide, height: high, "shape-rendering": "crispEdges", "fill-opacity": strength.toFixed(3) }, scene.back);
      }
    }
  };
  const question = (scene, layer) => {
    clear(layer);
    const found = nearest(state.at, state.k), estimate = answer(found, state.kernel, state.h), most = Math.max(...estimate.weights, 1e-300);
    const place = [scene.placeX(state.at[0]), two ? scene.placeY(state.at[1]) : isCurve ? scene.placeY(estimate.value) : (TOP + scene.height - BOTTOM) / 2];
    found.slice(0, 150).forEach(([, row], j) => {
      const to = spotIn(scene, row);
      draw("line", { class: "stroke-ink", x1: place[0], y1: place[1], x2: to[0], y2: to[1], "stroke-width": 1, "stroke-opacity": 0.15 + 0.55 * (estimate.weights[j] / most) }, layer);
    });
    draw("circle", { class: "handle", cx: place[0], cy: place[1], r: 9, "data-question": "" }, layer);
    draw("path", { class: "stroke-paper", "stroke-width": 2, d: `M${place[0] - 5} ${place[1]}h10M${place[0]} ${place[1] - 5}v10` }, layer);
    const votes = data.classes ? data.classes.map((name, code) => [estimate.shares[code], name]).filter(([share]) => share > 0).sort((a, b) => b[0] - a[0]).slice(0, 4)
      .map(([share, name]) => `${name} ${percent(share)}`).join(", ") : `mean ${number(estimate.value)}`;
    said.textContent = `At ${axes.map((axis, j) => `${axis.name} = ${axis.categories ? axis.categories[Math.round(state.at[j])] : number(state.at[j])}`).join(", ")}: ${votes}.`;
    said.dataset.answer = data.classes ? data.classes[estimate.value] : estimate.value;
  };
  const spotIn = (scene, row) => [scene.placeX(spotOf(axes[0], points[0][row], row, scene.x0)),
    two ? scene.placeY(spotOf(axes[1], points[1][row], row, scene.y0)) : isCurve ? scene.placeY(data.target[row]) : (TOP + scene.height - BOTTOM) / 2 + 160 * jitter(row)];
  const clamp = (j, value) => (axes[j].categories ? Math.round(Math.max(axes[j].low, Math.min(axes[j].high, value))) : Math.max(axes[j].low, Math.min(axes[j].high, value)));

  const render = () => {
    kSlider.input.value = state.k;
    kSlider.say(`k = ${state.k} neighbour${state.k === 1 ? "" : "s"}`);
    hSlider.say(state.kernel === "gaussian" ? `bandwidth h = ${number(state.h, 3)}` : "bandwidth: for gaussian weights");
    hSlider.input.disabled = state.kernel !== "gaussian";
    const scene = plane(clear(holder), axes[0], two ? axes[1] : isCurve ? { name: data.target_name, low: lowTarget, high: highTarget, categories: null } : { name: "", low: 0, high: 1, categories: [" "] }, "Rows, and a question that arrow keys move");
    background(scene);
    rows.forEach((row) => { const [cx, cy] = spotIn(scene, row); draw("circle", { class: `point fill-${colourOfRow(row)}`, cx, cy, r: 4, "fill-opacity": strengthOfRow(row) }, scene.front); });
    const layer = draw("g", {}, scene.svg);
    question(scene, layer);
    scene.svg.setAttribute("tabindex", 0);
    draggable(scene.svg, ([x, y]) => { state.at = two ? [clamp(0, scene.fromX(x)), clamp(1, scene.fromY(y))] : [clamp(0, scene.fromX(x))]; question(scene, layer); });
    scene.svg.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] };
      if (!(event.key in moves) || moves[event.key][0] >= axes.length) return;
      event.preventDefault();
      event.stopPropagation();
      const [j, sign] = moves[event.key], step = axes[j].categories ? 1 : (axes[j].high - axes[j].low) / 40;
      state.at[j] = clamp(j, state.at[j] + sign * step);
      question(scene, layer);
    });
    if (!sizes.length) return;
    const values = errors();
    const graph = plane(clear(curveHolder), { name: "k", low: 0, high: sizes.length - 1 || 1, categories: sizes.map(String) },
      { name: data.classes ? "share of errors" : "root mean squared error", low: 0, high: Math.max(...values, 1e-9), categories: null }, "Error by the number of neighbours", 220);
    draw("path", { class: "line stroke-blue", d: course(values.map((one, j) => [graph.placeX(j), graph.placeY(one)])) }, graph.front);
    const near = sizes.reduce((best, k, j) => (Math.abs(k - state.k) < Math.abs(sizes[best] - state.k) ? j : best), 0);
    draw("circle", { class: "handle", cx: graph.placeX(near), cy: graph.placeY(values[near]), r: 5 }, graph.front);
  };
  player.begin();
};
