/* The player of a chapter: steps back and forth, by buttons, slider and arrow keys; and the quiz, which asks for
   the next step before it shows it. A chapter brings show(step) and ask(step), both for steps from 0 to `steps`. */
const PAUSE = 1400;

const playThrough = (section, { steps, show, ask, name }) => {
  const bar = html("div", { class: "player", role: "group", "aria-label": `Steps: ${name}` }, section);
  const button = (text, label, press) => {
    const made = html("button", { type: "button", text, "aria-label": label, title: label }, bar);
    made.addEventListener("click", press);
    return made;
  };
  const back = button("◀ Back", "One step back", () => go(state.step - 1));
  const play = button("Play", "Play all steps", () => (state.timer ? stop() : start()));
  const next = button("Next ▶", "The next step", () => forward());
  const range = html("input", { type: "range", min: 0, max: steps, value: 0, "aria-label": `Step of ${name}` }, bar);
  const count = html("span", { class: "count" }, bar);
  const quiz = ask ? button("Quiz", "Ask me before each step", () => toggleQuiz()) : null;
  if (quiz) quiz.setAttribute("aria-pressed", "false");
  const box = html("div", { class: "quiz", hidden: "" }, section);
  const caption = html("p", { class: "caption", "aria-live": "polite" }, section);
  const state = { step: 0, timer: null, asking: false, right: 0, asked: 0 };

  const go = (step) => {
    state.step = Math.max(0, Math.min(steps, step));
    state.asking = false;
    box.hidden = true;
    range.value = state.step;
    range.setAttribute("aria-valuetext", `step ${state.step} of ${steps}`);
    count.textContent = `${state.step} of ${steps}`;
    back.disabled = state.step === 0;
    next.disabled = state.step === steps;
    section.dataset.step = state.step;
    caption.textContent = show(state.step) || "";
  };
  const stop = () => { clearInterval(state.timer); state.timer = null; play.textContent = "Play"; };
  const start = () => {
    if (state.step === steps) go(0);
    play.textContent = "Pause";
    state.timer = setInterval(() => { if (state.step >= steps) stop(); else go(state.step + 1); }, PAUSE);
  };
  const inQuiz = () => quiz && quiz.getAttribute("aria-pressed") === "true";
  const forward = () => {
    stop();
    if (state.step >= steps || state.asking) return;
    const question = inQuiz() ? ask(state.step + 1) : null;
    if (question) pose(question); else go(state.step + 1);
  };
  const pose = ({ text, options, right, why }) => {
    state.asking = true;
    clear(box).hidden = false;
    html("p", { text, class: "strong" }, box);
    const buttons = html("div", { class: "buttons" }, box);
    options.forEach((option, place) => {
      html("button", { type: "button", text: option }, buttons).addEventListener("click", () => answer(place));
    });
    const answer = (place) => {
      if (!state.asking) return;
      const step = state.step + 1;
      state.asked += 1;
      state.right += place === right ? 1 : 0;
      go(step);
      box.hidden = false;
      [...buttons.children].forEach((one, k) => {
        one.disabled = true;
        if (k === right) one.classList.add("right"); else if (k === place) one.classList.add("wrong");
      });
      html("p", { text: `${place === right ? "Right." : `No: ${options[right]}.`} ${why || ""}`, class: "verdict" }, box);
      html("p", { text: `${state.right} of ${state.asked} right`, class: "note" }, box);
      next.focus();
    };
    buttons.firstChild.focus();
  };
  const toggleQuiz = () => {
    stop();
    const on = !inQuiz();
    quiz.setAttribute("aria-pressed", String(on));
    play.disabled = on;
    range.disabled = on;
    box.hidden = true;
    state.asking = false;
    if (on && state.step === steps) go(0);
  };
  range.addEventListener("input", () => { stop(); go(Number(range.value)); });
  const byKeys = (event) => {
    if (event.target.matches("input, select, textarea, svg") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowRight") { event.preventDefault(); forward(); }
    if (event.key === "ArrowLeft") { event.preventDefault(); stop(); go(state.step - 1); }
  };
  section.addEventListener("keydown", byKeys);
  /* Before anything was chosen, keys mean the chapter that is being looked at. */
  document.addEventListener("keydown", (event) => {
    const isRead = (one) => one.getBoundingClientRect().bottom > window.innerHeight / 3;
    if (event.target === document.body && [...document.querySelectorAll("[data-step]")].find(isRead) === section) byKeys(event);
  });
  return { begin: () => go(0), stop, refresh: () => go(state.step), place: () => state.step };
};

/* Options in an order that does not give the answer away, but is the same each time. */
const mixed = (right, others) => {
  const options = [...new Set([right, ...others])];
  const key = (text) => [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, 7);
  options.sort((a, b) => key(a) - key(b));
  return { options, right: options.indexOf(right) };
};
