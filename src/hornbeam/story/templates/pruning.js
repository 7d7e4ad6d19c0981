/* Pruning along the cost-complexity path: step k is the k-th of the nested trees, the whole one first. */
CHAPTERS.pruning = (section, chapter) => {
  const { nodes, leaves, error, training, alpha } = chapter;
  const least = error.reduce((best, one, k) => (one <= error[best] + 1e-12 ? k : best), 0);
  const what = data.classes ? "share of errors" : "mean squared error";

  const tell = (step) => {
    const cut = step ? `, after cutting ${leaves[step - 1] - leaves[step]} more ${leaves[step - 1] - leaves[step] === 1 ? "leaf" : "leaves"}` : ", grown out";
    const best = step === least ? " No tree of the path has a smaller error on rows not seen." : "";
    return `${leaves[step]} ${leaves[step] === 1 ? "leaf" : "leaves"}${cut}. A leaf must be worth ${number(alpha[step])}. `
      + `The ${what} is ${number(training[step])} on the rows of the fit, ${number(error[step])} ± ${number(chapter.standard_error[step], 2)} by ${chapter.judged_by}.${best}`;
  };
  const ask = (step) => {
    const change = error[step] - error[step - 1];
    const words = Math.abs(change) < 1e-12 ? "it stays the same" : change < 0 ? "it falls" : "it rises";
    return { text: `The next step leaves ${leaves[step]} of ${leaves[step - 1]} leaves. What happens to the error on rows not seen?`,
      ...mixed(words, ["it falls", "it rises", "it stays the same"]), why: `From ${number(error[step - 1])} to ${number(error[step])}.` };
  };
  const player = playThrough(section, { steps: leaves.length - 1, show: (step) => { render(step); return tell(step); }, ask, name: "pruning" });
  const tree = treePicture(section, nodes, "The tree that is left");
  const made = panel(section, "Error by size");
  const x = { name: "trees of the path, the whole one first", low: 0, high: Math.max(leaves.length - 1, 1), categories: leaves.map(String) };
  const tops = error.map((one, k) => one + chapter.standard_error[k]);
  const y = { name: what, low: 0, high: Math.max(...tops, ...training, 1e-9), categories: null };
  const picture = plane(made, { ...x, name: "leaves" }, y, "Errors of the nested trees");
  const at = (values) => values.map((one, k) => [picture.placeX(k), picture.placeY(one)]);
  error.forEach((one, k) => draw("line", { class: "stroke-orange", "stroke-width": 1, x1: picture.placeX(k), x2: picture.placeX(k),
    y1: picture.placeY(Math.max(0, one - chapter.standard_error[k])), y2: picture.placeY(tops[k]) }, picture.back));
  draw("path", { class: "line stroke-blue", d: course(at(training)) }, picture.front);
  draw("path", { class: "line stroke-orange", d: course(at(error)) }, picture.front);
  const here = draw("line", { class: "cut", y1: TOP, y2: picture.height - BOTTOM }, picture.front);
  const legend = html("p", { class: "legend" }, made);
  [["blue", "on the rows of the fit"], ["orange", `by ${chapter.judged_by}, ± one standard error`]].forEach(([colour, words]) => {
    const item = html("span", { class: "legend-item" }, legend);
    draw("rect", { class: `fill-${colour}`, width: 12, height: 12, rx: 2 }, draw("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, item));
    html("span", { text: words }, item);
  });
  html("p", { class: "note", text: `The model itself has ${chapter.own_leaves} ${chapter.own_leaves === 1 ? "leaf" : "leaves"}.`
    + (chapter.limited ? " The tree of this chapter was grown to 60 leaves, as many as the page can show." : "") }, made);

  const render = (step) => {
    // A leaf says removed_at 0; an inner node is cut from the step on that it names.
    const isCut = (k) => nodes[k].children.length > 0 && nodes[k].removed_at <= step;
    const isGone = (k) => { for (let up = nodes[k].parent; up >= 0; up = nodes[up].parent) if (isCut(up)) return true; return false; };
    const now = nodes.findIndex((node, k) => step > 0 && node.children.length && node.removed_at === step && !isGone(k));
    tree.show((k) => (isGone(k) ? "hidden" : nodes[k].children.length && !isCut(k) ? "split" : "leaf"), Math.max(now, 0));
    here.setAttribute("x1", picture.placeX(step));
    here.setAttribute("x2", picture.placeX(step));
  };
  player.begin();
};
