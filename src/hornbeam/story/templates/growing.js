/* A tree grows node by node: the picture of the tree, the gains of the columns as bars, a threshold to drag, and
   the rows of the node among all. Step k shows the tree after k splits. */
CHAPTERS.growing = (section, chapter) => {
  const { nodes, splits } = chapter;
  const rowsIn = nodes.map(() => []);
  chapter.ends.forEach((end, row) => { for (let at = end; at >= 0; at = nodes[at].parent) rowsIn[at].push(row); });
  const bornAt = nodes.map((_, k) => (k === 0 ? 0 : splits.indexOf(nodes[k].parent) + 1));
  const splitAt = nodes.map((_, k) => (splits.includes(k) ? splits.indexOf(k) + 1 : Infinity));

  const tell = (step) => {
    if (step === 0) return `All ${nodes[0].rows} rows are in one node: ${impurityWords(0)}. Which question divides them best?`;
    const node = nodes[splits[step - 1]], [best] = node.bars.filter((bar) => bar.chosen);
    const ends = node.children.map((child) => `${nodes[child].way}: ${nodes[child].rows} (${impurityWords(child)})`).join("; ");
    const left = step === splits.length && chapter.left_out ? ` The tree has ${chapter.left_out} more splits, in its smaller nodes.` : "";
    return `Split ${step} of ${splits.length}: ${node.rows} rows are asked ${node.test}. Gain ${number(best.gain)}. ${ends}.${left}`;
  };
  const impurityWords = (k) => `${IMPURITY_WORDS[chapter.impurity]} ${number(nodes[k].impurity)}`;

  const ask = (step) => {
    const node = nodes[splits[step - 1]];
    const names = node.bars.map((bar) => bar.name);
    const chosen = node.bars.find((bar) => bar.chosen);
    if (names.length > 1 && step % 3 !== 0) {
      return { text: `${node.rows} rows${pathWords(splits[step - 1])}: which column is tested next?`,
        ...mixed(chosen.name, names.filter((name) => name !== chosen.name).slice(0, 3)),
        why: `It gains ${number(chosen.gain)}; the next best${runnerUp(node, chosen)}.` };
    }
    const row = rowsIn[splits[step - 1]][0], end = node.children.find((child) => rowsIn[child].includes(row));
    if (end === undefined) return null;
    const value = chapter.values[node.column][row], axis = chapter.columns[node.column];
    const words = value === null ? "missing" : axis.categories ? axis.categories[value] : number(value, 6);
    return { text: `The node asks ${node.test}. Row ${data.rows[row]} has ${axis.name} = ${words}. Which way does it go?`,
      ...mixed(nodes[end].way, node.children.map((child) => nodes[child].way)), why: "" };
  };
  const runnerUp = (node, chosen) => {
    const other = node.bars.find((bar) => bar !== chosen);
    return other ? `, ${other.name}, would gain ${number(other.gain)}` : " has no test";
  };
  const pathWords = (k) => {
    const steps = [];
    for (let at = k; nodes[at].parent >= 0; at = nodes[at].parent) steps.unshift(`${nodes[nodes[at].parent].test}: ${nodes[at].way}`);
    return steps.length ? ` (${steps.join("; ")})` : "";
  };

  const player = playThrough(section, { steps: splits.length, show: (step) => { render(step); return tell(step); }, ask, name: "the growing tree" });
  const tree = treePicture(section, nodes, "The tree so far");
  const panels = html("div", { class: "panels" }, section);
  const barPanel = panel(panels, "What each column would gain");
  const barNote = html("p", { class: "note" }, barPanel), barList = html("ul", { class: "bars" }, barPanel);
  const threshold = thresholdPanel(panels, chapter);
  const scatter = chapter.plane.length > 1 ? panel(panels, "The rows of this node") : null;
  const scatterHolder = scatter ? html("div", {}, scatter) : null;
  if (scatter) legendOf(scatter); else legendOf(barPanel);

  const bars = (k) => {
    clear(barList);
    const node = nodes[k], most = Math.max(...node.bars.map((bar) => bar.gain), 1e-12);
    barNote.textContent = `${node.rows} rows, ${impurityWords(k)}.`
      + (chapter.criterion ? ` This tree compares columns by ${chapter.criterion}; the bars show the impurity decrease.` : "");
    node.bars.forEach((bar) => {
      const button = html("button", { type: "button" }, html("li", {}, barList));
      if (bar.chosen) button.classList.add("chosen");
      html("span", { text: bar.test }, button);
      html("span", { text: number(bar.gain), class: "n" }, button);
      const picture = draw("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, button);
      draw("rect", { class: "fill-line", width: 100, height: 6 }, picture);
      draw("rect", { class: `fill-${bar.chosen ? "blue" : "grey"}`, width: (100 * bar.gain) / most, height: 6 }, picture);
      button.addEventListener("click", () => {
        [...barList.querySelectorAll("button")].forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
        threshold.show(rowsIn[k], bar.column, bar.chosen ? node.threshold : null);
      });
    });
  };
  const rowsPicture = (k, isSplit) => {
    if (!scatter) return;
    const [a, b] = chapter.plane, x = chapter.columns[a], y = chapter.columns[b], inside = new Set(rowsIn[k]);
    const picture = plane(clear(scatterHolder), x, y, "Rows by two columns; those of the node are strong");
    chapter.ends.forEach((_, row) => {
      const at = [spotOf(x, chapter.values[a][row], row, picture.x0), spotOf(y, chapter.values[b][row], row, picture.y0)];
      draw("circle", { class: `point fill-${colourOfRow(row)}${inside.has(row) ? "" : " faint"}`, cx: picture.placeX(at[0]), cy: picture.placeY(at[1]),
        r: inside.has(row) ? 4.5 : 3, "fill-opacity": strengthOfRow(row) }, picture.front);
    });
    const node = nodes[k];
    if (!isSplit || node.threshold === null || node.threshold === undefined) return;
    const box = boxOf(k, a, b, picture);
    if (node.column === a) line(picture, [node.threshold, box[1][0]], [node.threshold, box[1][1]]);
    if (node.column === b) line(picture, [box[0][0], node.threshold], [box[0][1], node.threshold]);
  };
  const boxOf = (k, a, b, picture) => { // what the tests above leave of both axes
    const box = [[picture.x0, picture.x1], [picture.y0, picture.y1]];
    for (let at = k; nodes[at].parent >= 0; at = nodes[at].parent) {
      const above = nodes[nodes[at].parent], side = above.column === a ? 0 : above.column === b ? 1 : -1;
      if (side < 0 || above.threshold === null || above.threshold === undefined) continue;
      if (above.children[0] === at) box[side][1] = Math.min(box[side][1], above.threshold);
      else box[side][0] = Math.max(box[side][0], above.threshold);
    }
    return box;
  };
  const line = (picture, [x0, y0], [x1, y1]) =>
    draw("line", { class: "cut", x1: picture.placeX(x0), y1: picture.placeY(y0), x2: picture.placeX(x1), y2: picture.placeY(y1) }, picture.front);

  const render = (step) => {
    const k = step === 0 ? 0 : splits[step - 1], node = nodes[k];
    tree.show((one) => (bornAt[one] > step ? "hidden" : splitAt[one] <= step ? "split" : "leaf"), k);
    if (step === 0 && splits.length) { // the gains would give the first answer away
      barNote.textContent = "The first step shows what each column would gain.";
      clear(barList);
      threshold.show(rowsIn[0], chapter.columns.findIndex((axis) => !axis.categories), null);
    } else if (splits.length) {
      bars(k);
      threshold.show(rowsIn[k], node.column, node.threshold);
    }
    rowsPicture(k, step > 0);
  };
  player.begin();
};
