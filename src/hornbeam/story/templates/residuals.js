/* Gradient boosting: answers and residuals of the rows, before and after each round that is shown. */
CHAPTERS.residuals = (section, chapter) => {
  const { rounds, answers, truth, tests, axis, points, errors } = chapter;
  const what = chapter.class_shown === null ? data.target_name : `probability of ${data.classes[chapter.class_shown]}`;
  const left = answers.map((said) => said.map((one, row) => truth[row] - one));
  const size = (values) => Math.sqrt(values.reduce((sum, one) => sum + one * one, 0) / (values.length || 1));
  const tell = (step) => {
    const loss = `${chapter.measure} ${number(errors[rounds[step]])}`;
    if (!step) return `Before the first round every row gets the same answer, ${number(answers[0][0])}: ${loss}.`;
    const trees = chapter.trees_per_round > 1 ? `${chapter.trees_per_round} trees; the first has ` : "The tree has ";
    return `Round ${rounds[step]} of ${chapter.n_rounds}. ${trees}${tests[step]}. A step is ${number(chapter.learning_rate)} of what is left in a leaf. Now ${loss}.`;
  };
  const ask = (step) => {
    const row = (step * 13) % truth.length, before = left[step - 1][row], moved = answers[step][row] - answers[step - 1][row];
    if (Math.abs(moved) < 1e-9) return null;
    return { text: `Row ${data.rows[row]} has the residual ${number(before, 3)}. Which way will its answer, ${number(answers[step - 1][row], 3)}, go by round ${rounds[step]}?`,
      ...mixed(moved > 0 ? "up" : "down", ["up", "down"]),
      why: `To ${number(answers[step][row], 3)}.${moved > 0 === before > 0 ? "" : " A tree moves whole leaves: this row went with the others of its leaf."}` };
  };
  const player = playThrough(section, { steps: rounds.length - 1, show: (step) => { render(step); return tell(step); }, ask, name: "boosting's rounds" });
  const panels = html("div", { class: "panels" }, section);
  const fitPanel = panel(panels, "Targets and answers"), fitHolder = html("div", {}, fitPanel);
  html("p", { class: "note", text: "Grey: the targets. Blue: the answers so far." }, fitPanel);
  const leftPanel = panel(panels, "Residuals: what is left"), leftHolder = html("div", {}, leftPanel);
  const leftNote = html("p", { class: "note" }, leftPanel);
  const curvePanel = panel(panels, "Error by round");
  const picture = plane(curvePanel, { name: "rounds", low: 0, high: Math.max(errors.length - 1, 1), categories: null },
    { name: chapter.measure, low: 0, high: Math.max(...errors, 1e-9), categories: null }, "Error by round");
  const curve = draw("path", { class: "line stroke-blue" }, picture.front), dot = draw("circle", { class: "handle", r: 5 }, picture.front);
  html("p", { class: "note", text: "On the rows of the fit: it falls with every round. Early stopping and cross-validation say how many rounds are good for other rows." }, curvePanel);

  const all = [...truth, ...answers.flat()], low = Math.min(...all), high = Math.max(...all);
  const farthest = Math.max(...left.flat().map(Math.abs), 1e-9);
  const dots = (scene, values, classes, r) => values.forEach((value, row) => draw("circle", { class: `point ${classes}`,
    cx: scene.placeX(spotOf(axis, points[row], row, scene.x0)), cy: scene.placeY(value), r, "fill-opacity": 0.75 }, scene.front));
  const render = (step) => {
    const fit = plane(clear(fitHolder), axis, { name: what, low, high, categories: null }, "Targets and answers by one column");
    dots(fit, truth, "fill-grey", 3);
    dots(fit, answers[step], "fill-blue", 3.4);
    const rest = plane(clear(leftHolder), axis, { name: "residual", low: -farthest, high: farthest, categories: null }, "Residuals by one column");
    draw("line", { class: "guide", x1: LEFT, x2: WIDTH - RIGHT, y1: rest.placeY(0), y2: rest.placeY(0) }, rest.back);
    left[step].forEach((value, row) => {
      const x = rest.placeX(spotOf(axis, points[row], row, rest.x0));
      if (step) draw("line", { class: "stroke-faint", "stroke-opacity": 0.5, "stroke-width": 1.5, x1: x, x2: x, y1: rest.placeY(left[step - 1][row]), y2: rest.placeY(value) }, rest.back);
      draw("circle", { class: `point fill-${value >= 0 ? "orange" : "sky"}`, cx: x, cy: rest.placeY(value), r: 3.4, "fill-opacity": 0.8 }, rest.front);
    });
    leftNote.textContent = `Root mean square on this page: ${number(size(left[step]))}${step ? `, before ${number(size(left[step - 1]))}; grey lines show where each was` : ""}.`;
    const done = errors.slice(0, rounds[step] + 1).map((one, k) => [picture.placeX(k), picture.placeY(one)]);
    curve.setAttribute("d", course(done));
    dot.setAttribute("cx", done[done.length - 1][0]);
    dot.setAttribute("cy", done[done.length - 1][1]);
  };
  player.begin();
};
