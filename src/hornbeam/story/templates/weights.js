/* AdaBoost: rows sized by their weights, round by round. Step m shows member m at work; the last weights follow. */
CHAPTERS.weights = (section, chapter) => {
  const { rounds, axes, points, training } = chapter, two = axes.length > 1;
  const weightsAt = (step) => (step === 0 ? rounds[0].weights : rounds[step - 1].weights);
  const after = (step) => (step < rounds.length ? rounds[step].weights : chapter.last_weights);
  const memberWords = (round) => (round.test === null || round.test === undefined ? "The member" : round.answers
    ? `The stump asks ${round.test} (yes: ${round.answers[0]}, no: ${round.answers[1]}). It` : `The member, of ${round.leaves} leaves, first asks ${round.test}. It`);
  const tell = (step) => {
    if (!step) return `All ${chapter.n_rows} rows weigh the same, ${number(1 / chapter.n_rows)}.`;
    const round = rounds[step - 1];
    const vote = round.beta === null ? "makes no mistake and decides alone" : `has the weighted ${data.classes ? "error" : "loss"} ${number(round.error)} and the say ${number(round.beta)} in the vote`;
    return `Round ${step} of ${chapter.n_rounds}. ${memberWords(round)} ${vote}. The vote so far ${data.classes
      ? `gets ${percent(training[step - 1])} of the rows wrong` : `is off by ${number(training[step - 1])} (root mean square)`}.`;
  };
  const ask = (step) => {
    const round = rounds[step - 1];
    if (round.beta === null || !data.classes || !round.wrong.length) return null;
    const row = round.wrong[(step * 7) % round.wrong.length], before = round.weights[row], right = after(step)[row];
    const rest = before * (right / before > 1 ? before / right : 0.5);
    return { text: `Round ${step}: the member's weighted error is ${number(round.error)}. Row ${data.rows[row]}, of weight ${number(before)}, is one of its mistakes. What does it weigh afterwards?`,
      ...mixed(number(right), [number(before), number(rest), number(right * 1.7)]),
      why: `Mistakes are multiplied by e^${number(round.beta)}, hits by e^−${number(round.beta)}, and all divided by their sum: the mistakes then weigh half of all${data.classes.length > 2 ? " with two classes, more with these" : ""}.` };
  };
  const player = playThrough(section, { steps: rounds.length, show: (step) => { render(step); return tell(step); }, ask, name: "AdaBoost's rounds" });
  const panels = html("div", { class: "panels" }, section);
  const rowsPanel = panel(panels, "Rows, sized by the weights of this round");
  const holder = html("div", {}, rowsPanel);
  html("p", { class: "note", text: (data.classes ? "Rings are the mistakes of this round's member. " : "")
    + (chapter.regions ? "The background is the vote so far." : "The dashed line is the member's first test, where it is about one of these columns.") }, rowsPanel);
  legendOf(rowsPanel);
  const curvePanel = panel(panels, "Round by round");
  const most = Math.max(...(data.classes ? rounds.map((round) => round.error) : []), ...training, 1e-9);
  const picture = plane(curvePanel, { name: "rounds", low: 1, high: Math.max(rounds.length, 2), categories: null },
    { name: data.classes ? "error" : "root mean squared error", low: 0, high: data.classes ? Math.max(most, 0.5) : most, categories: null }, "Errors by round");
  const own = draw("path", { class: "line stroke-orange" }, picture.front), vote = draw("path", { class: "line stroke-blue" }, picture.front);
  html("p", { class: "note", text: data.classes ? "Orange: the weighted error of each member. Blue: the share of rows that the vote gets wrong." : "The root mean squared error of the members' weighted median. The table has the weighted loss of each member." }, curvePanel);
  const table = html("table", { class: "scores" }, html("div", { class: "scroll" }, curvePanel));
  const head = html("tr", {}, html("thead", {}, table));
  ["Round", "Error", "Say", "Test"].forEach((name) => html("th", { text: name, scope: "col" }, head));
  const body = html("tbody", {}, table);

  const region = (picture_, stage) => {
    const side = Math.round(Math.sqrt(stage.length));
    const wide = (WIDTH - RIGHT - LEFT) / side, high = (picture_.height - BOTTOM - TOP) / side;
    [...stage].forEach((code, k) => { // neighbours in a line that say the same are one rectangle
      const column = k % side;
      if (column && stage[k - 1] === code) return;
      let length = 1;
      while (column + length < side && stage[k + length] === code) length += 1;
      draw("rect", { class: `area fill-${colourOf(Number(code))}`, x: LEFT + column * wide, y: picture_.height - BOTTOM - (Math.floor(k / side) + 1) * high,
        width: length * wide, height: high, "shape-rendering": "crispEdges" }, picture_.back);
    });
  };
  const render = (step) => {
    const weights = weightsAt(step), mean = 1 / chapter.n_rows, round = step ? rounds[step - 1] : null;
    const x = axes[0], y = two ? axes[1] : { name: "", low: 0, high: 1, categories: null };
    const scene = plane(clear(holder), x, y, "Rows, sized by weight");
    if (chapter.regions && step) region(scene, chapter.regions[step - 1]);
    const wrong = new Set(round ? round.wrong : []);
    weights.map((weight, row) => [weight, row]).sort((a, b) => b[0] - a[0]).forEach(([weight, row]) => { // small ones on top
      const at = [scene.placeX(spotOf(x, points[0][row], row, scene.x0)), scene.placeY(two ? spotOf(y, points[1][row], row, scene.y0) : 0.5 + 0.6 * jitter(row))];
      const r = Math.max(1.2, Math.min(22, 5 * Math.sqrt(weight / mean)));
      draw("circle", { class: `point fill-${colourOfRow(row)}`, cx: at[0], cy: at[1], r, "fill-opacity": 0.75 * strengthOfRow(row), "data-row": row }, scene.front);
      if (wrong.has(row)) draw("circle", { class: "ring", cx: at[0], cy: at[1], r: r + 2.5 }, scene.front);
    });
    if (round && round.line && (round.line[0] === 0 || two)) {
      const [side, threshold] = round.line;
      const ends = side === 0 ? [scene.placeX(threshold), TOP, scene.placeX(threshold), scene.height - BOTTOM] : [LEFT, scene.placeY(threshold), WIDTH - RIGHT, scene.placeY(threshold)];
      draw("line", { class: "cut", x1: ends[0], y1: ends[1], x2: ends[2], y2: ends[3] }, scene.front);
    }
    const line = (values) => course(values.slice(0, step).map((one, m) => [picture.placeX(m + 1), picture.placeY(one)]));
    if (data.classes) own.setAttribute("d", line(rounds.map((one) => one.error)));
    vote.setAttribute("d", line(training));
    clear(body);
    rounds.slice(Math.max(0, step - 6), step).forEach((one, k) => {
      const tr = html("tr", {}, body);
      [String(Math.max(0, step - 6) + k + 1), number(one.error), one.beta === null ? "∞" : number(one.beta), one.test || ""].forEach((text) => html("td", { text }, tr));
    });
  };
  player.begin();
};
