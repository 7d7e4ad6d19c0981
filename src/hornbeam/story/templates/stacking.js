/* Stacking as a flow: members answer the rows of one fold after the other, then the final model learns from the
   answers. A step per fold, one for the final model, and one for its answers. */
CHAPTERS.stacking = (section, chapter) => {
  const folds = chapter.folds || chapter.rows.map(() => 0), n = Math.max(chapter.n_folds, 1);
  const others = (fold) => [...Array(n).keys()].filter((one) => one !== fold).map((one) => one + 1).join(", ");
  const names = chapter.members.map((member) => member.name).join(", ");
  const what = chapter.class_shown ? `the probability of ${chapter.class_shown}` : "a number";
  const tell = (step) => {
    if (!step) return `${chapter.members.length} members (${names}), ${chapter.n_folds ? `${n} folds` : "rows that they have not seen"}. Each says ${what}; members without probabilities say what they have.`;
    if (step <= n) return chapter.n_folds ? `Fold ${step}: copies of the members, fitted on folds ${others(step - 1)}, answer its rows.` : "The members answer rows that they were not fitted on.";
    if (step === n + 1) return `The final model, ${chapter.final.kind}, learns the target from these ${chapter.members.length} columns.`
      + (chapter.weights ? ` Its weights: ${chapter.weights.map((one) => number(one, 3)).join(", ")}.` : "");
    const right = chapter.final.said.filter((one, row) => one === chapter.truth[row]).length;
    return `For new rows the members are fitted once more, on all rows, and the final model answers.${chapter.class_shown ? ` Of the rows shown, ${right} of ${chapter.rows.length} are right.` : ""}`;
  };
  const ask = (step) => {
    if (step <= n && chapter.n_folds > 1) return { text: `Which folds are the members fitted on that answer fold ${step}?`,
      ...mixed(others(step - 1), [String(step), [...Array(n).keys()].map((one) => one + 1).join(", ")]), why: "A member must not have seen the row it answers." };
    if (step === n + 1) return { text: "What does the final model learn from?", ...mixed("out-of-fold answers", ["the columns of the table", "answers to rows that the members have seen"]),
      why: "A member that learns rows by heart would look perfect on those it has seen." };
    return null;
  };
  const player = playThrough(section, { steps: n + 2, show: (step) => { render(step); return tell(step); }, ask, name: "the stack" });
  const panels = html("div", { class: "panels" }, section);
  const flowPanel = panel(panels, "The flow"), flowHolder = html("div", {}, flowPanel);
  const tablePanel = panel(panels, "Answers become columns");
  const table = html("table", { class: "flow" }, html("div", { class: "scroll", tabindex: 0 }, tablePanel));
  html("p", { class: "note", text: `${chapter.rows.length} rows are shown; members say ${what}.` }, tablePanel);

  const flow = (step) => {
    const levels = [...new Set(chapter.members.map((member) => member.level))].sort();
    const tallest = Math.max(...levels.map((level) => chapter.members.filter((member) => member.level === level).length));
    const across = 440 / (levels.length + 2), height = Math.max(120, 56 * tallest + 20);
    const svg = draw("svg", { class: "chart", viewBox: `0 0 440 ${height}`, role: "img", "aria-label": "Table, members, final model" }, clear(flowHolder));
    const box = (x, y, words, small, isOn) => {
      draw("rect", { class: isOn ? "mark" : "frame", x: x - across / 2 + 6, y: y - 20, width: across - 12, height: 40, rx: 5 }, svg);
      draw("text", { class: "middle strong", x, y: y - (small ? 2 : -4) }, svg, cutText(words, Math.floor(across / 8.5)));
      if (small) draw("text", { class: "middle", x, y: y + 13 }, svg, cutText(small, Math.floor(across / 7.5)));
    };
    const link = (x0, y0, x1, y1, isOn) => draw("path", { class: `line ${isOn ? "stroke-blue" : "stroke-line"}`, d: `M${x0 + across / 2 - 6} ${y0}C${(x0 + x1) / 2} ${y0} ${(x0 + x1) / 2} ${y1} ${x1 - across / 2 + 6} ${y1}` }, svg);
    const places = [[[across / 2, height / 2]]];
    levels.forEach((level, depth) => {
      const here = chapter.members.filter((member) => member.level === level);
      places.push(here.map((_, k) => [across * (depth + 1.5), (height / (here.length + 1)) * (k + 1)]));
    });
    places.push([[across * (levels.length + 1.5), height / 2]]);
    places.slice(1).forEach((to, depth) => to.forEach(([x1, y1]) => places[depth].forEach(([x0, y0]) => {
      const isLast = depth === places.length - 2;
      link(x0, y0, x1, y1, isLast ? step > n : step > 0 && step <= n);
    })));
    box(...places[0][0], "table", chapter.n_folds ? `${n} folds` : "", step > 0 && step <= n);
    levels.forEach((level, depth) => chapter.members.filter((member) => member.level === level)
      .forEach((member, k) => box(...places[depth + 1][k], member.name, step ? `score ${number(member.score, 3)}` : "", step > 0 && step <= n)));
    box(...places[places.length - 1][0], "final", step > n ? cutText(chapter.final.kind, 14) : "", step > n);
  };
  const render = (step) => {
    flow(step);
    clear(table);
    const head = html("tr", {}, html("thead", {}, table));
    const numeric = ["Row", ...(chapter.n_folds ? ["Fold"] : []), ...chapter.members.map((member) => member.name)];
    numeric.forEach((text) => html("th", { text, scope: "col", class: "n" }, head));
    [...(step > n + 1 ? ["Final"] : []), data.target_name].forEach((text) => html("th", { text, scope: "col" }, head));
    const body = html("tbody", {}, table);
    chapter.rows.forEach((row, k) => {
      const isAnswered = folds[k] < step, tr = html("tr", {}, body);
      if (folds[k] === step - 1) tr.className = "now";
      html("td", { text: String(row), class: "n" }, tr);
      if (chapter.n_folds) html("td", { text: String(folds[k] + 1), class: "n" }, tr);
      chapter.members.forEach((member) => html("td", { text: isAnswered ? number(member.said[k], 3) : "·", class: isAnswered ? "n" : "n waiting" }, tr));
      if (step > n + 1) html("td", { text: typeof chapter.final.said[k] === "number" ? number(chapter.final.said[k]) : chapter.final.said[k] }, tr);
      html("td", { text: typeof chapter.truth[k] === "number" ? number(chapter.truth[k]) : chapter.truth[k] }, tr);
    });
  };
  player.begin();
};
