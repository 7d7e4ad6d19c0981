/* Bootstrap samples, votes and the out-of-bag curve: step m shows the first m members. */
CHAPTERS.sampling = (section, chapter) => {
  const { times, said, curve, cells } = chapter, members = times.length;
  let row = 0; // which cell is asked about
  const isOut = (m, cell) => !chapter.all_seen && times[m][cell] === 0;
  const wordsOf = (answer) => (data.classes ? data.classes[answer] : number(answer));
  const tally = (step, onlyOut) => {
    const asked = [...Array(step).keys()].filter((m) => !onlyOut || isOut(m, row));
    return { asked, answers: asked.map((m) => said[m][row]) };
  };
  const leader = (answers) => {
    if (!answers.length) return null;
    if (!data.classes) return answers.reduce((a, b) => a + b, 0) / answers.length;
    const counts = data.classes.map((_, code) => answers.filter((one) => one === code).length);
    return counts.indexOf(Math.max(...counts));
  };
  const tell = (step) => {
    if (!step) return `${chapter.n_members} members, of which ${members} are shown. ${chapter.all_seen
      ? "Every member sees all rows; what differs is drawn in the tree itself." : "Each draws its own sample of the rows."}`;
    const m = step - 1;
    const drawn = chapter.all_seen ? "It sees every row." : chapter.with_replacement
      ? `It has drawn with replacement; ${percent(chapter.share_out[m])} of all rows are out of its bag.`
      : `It has drawn without replacement; ${percent(chapter.share_out[m])} of all rows are left out.`;
    return `Member ${step}. ${drawn} ${chapter.all_seen ? "Error on the rows themselves" : "Out-of-bag error"} so far: ${curve[m] === null ? "no row yet" : number(curve[m])}.`;
  };
  const ask = (step) => {
    const m = step - 1, number_ = data.rows[cells[row]];
    if (chapter.all_seen || step % 2 === 0) {
      if (!data.classes) return null;
      const right = wordsOf(leader(tally(step, false).answers));
      return { text: `After member ${step}, what do most members say of row ${number_}?`, ...mixed(right, data.classes.slice(0, 4)),
        why: `It is ${truthOf(cells[row])}.` };
    }
    const right = isOut(m, row) ? "yes" : "no";
    return { text: `Member ${step} has drawn row ${number_} ${times[m][row]} time${times[m][row] === 1 ? "" : "s"}. Does it answer for this row in the out-of-bag error?`,
      ...mixed(right, ["yes", "no"]), why: "Only members that have not seen a row answer for it." };
  };
  const player = playThrough(section, { steps: members, show: (step) => { render(step); return tell(step); }, ask, name: "samples and votes" });
  const panels = html("div", { class: "panels" }, section);
  const cellPanel = panel(panels, chapter.all_seen ? "The rows" : "The sample of this member");
  const grid = html("div", { class: "cells", role: "group", "aria-label": "Rows; choose one to follow its votes" }, cellPanel);
  html("p", { class: "note", text: chapter.all_seen
    ? `${cells.length} rows, which every member sees. Choose one to follow its votes.`
    : `${cells.length} rows, each with how often it was drawn; dashed rows are out of the bag. Choose one to follow its votes.` }, cellPanel);
  const votePanel = panel(panels, "The votes on one row");
  const voteNote = html("p", { class: "note" }, votePanel), voteHolder = html("div", {}, votePanel);
  const curvePanel = panel(panels, chapter.all_seen ? "Error by members" : "Out-of-bag error");
  const known = curve.filter((one) => one !== null);
  const picture = plane(curvePanel, { name: "members", low: 1, high: Math.max(members, 2), categories: null },
    { name: data.classes ? "share of errors" : "root mean squared error", low: 0, high: Math.max(...known, ...chapter.fit_curve) || 1, categories: null }, "Error by the number of members");
  const path = draw("path", { class: "line stroke-orange" }, picture.front), fit = draw("path", { class: "line stroke-blue" }, picture.back);
  const dot = draw("circle", { class: "handle", r: 5 }, picture.front);
  html("p", { class: "note", text: chapter.all_seen ? "On the rows of the fit, which every member has seen: it says little about other rows." : "Orange: out of bag, as honest as a test. Blue: all members on the rows that they have seen." }, curvePanel);
  legendOf(votePanel);

  const buttons = cells.map((cell, k) => {
    const button = html("button", { type: "button" }, grid);
    button.addEventListener("click", () => { row = k; render(player.place()); });
    return button;
  });
  const votes = (step) => {
    const all = tally(step, false), out = tally(step, true);
    const svg = draw("svg", { class: "chart", viewBox: `0 0 440 ${36 + 26 * Math.ceil(members / 15)}`, role: "img", "aria-label": "One mark per member; rings are members that have not seen the row" }, clear(voteHolder));
    all.asked.forEach((m, place) => {
      const x = 18 + (place % 15) * 28, y = 20 + Math.floor(place / 15) * 28;
      const share = data.classes ? 0.9 : 0.2 + 0.75 * ((said[m][row] - lowTarget) / (highTarget - lowTarget || 1));
      draw("circle", { class: `fill-${data.classes ? colourOf(said[m][row]) : "blue"}`, cx: x, cy: y, r: 8, "fill-opacity": Math.max(0.1, Math.min(1, share)) }, svg);
      if (isOut(m, row)) draw("circle", { class: "ring", cx: x, cy: y, r: 11 }, svg);
    });
    const vote = leader(all.answers), honest = leader(out.answers);
    voteNote.textContent = `Row ${data.rows[cells[row]]} is ${truthOf(cells[row])}. `
      + (step ? `All ${step}: ${wordsOf(vote)}. ` : "Nobody has voted yet. ")
      + (chapter.all_seen || !step ? "" : out.asked.length ? `Of these, ${out.asked.length} ${out.asked.length === 1 ? "has" : "have"} not seen it (ringed): ${wordsOf(honest)}.` : "All members so far have seen it.");
  };
  const render = (step) => {
    buttons.forEach((button, k) => {
      const drawn = step ? times[step - 1][k] : 0;
      button.textContent = step && !chapter.all_seen ? String(drawn) : "";
      button.className = step && !chapter.all_seen ? (drawn ? `drawn${Math.min(drawn, 3)}` : chapter.all_seen ? "" : "out") : "";
      button.classList.toggle("asked", k === row);
      button.setAttribute("aria-label", `row ${data.rows[cells[k]]}, ${step ? `drawn ${drawn} times` : "not yet drawn"}`);
      button.setAttribute("aria-pressed", String(k === row));
    });
    votes(step);
    const points = (values) => values.slice(0, step).map((one, m) => [m + 1, one]).filter(([, one]) => one !== null)
      .map(([m, one]) => [picture.placeX(m), picture.placeY(one)]);
    const line = points(curve);
    path.setAttribute("d", course(line));
    fit.setAttribute("d", chapter.all_seen ? "" : course(points(chapter.fit_curve)));
    dot.setAttribute("visibility", line.length ? "visible" : "hidden");
    if (line.length) { dot.setAttribute("cx", line[line.length - 1][0]); dot.setAttribute("cy", line[line.length - 1][1]); }
  };
  player.begin();
};
