/* The script of a report: the switch between light and dark, and the tree viewer. Text is only ever set as
   text, never as markup: names of columns, classes and categories are other people's. */
"use strict";

(() => {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  button.hidden = false;
  button.addEventListener("click", () => {
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
})();

(() => {
  const block = document.getElementById("viewer-data");
  if (!block) return;
  const data = JSON.parse(block.textContent);
  const byId = (id) => document.getElementById(id);
  const [viewer, canvas, map, world, links, nodes, facts] =
    ["viewer", "canvas", "map", "world", "links", "nodes", "facts"].map(byId);

  const COLUMN = 244, LINE = 52, WIDTH = 196, HEIGHT = 32; // distances between nodes, and the size of one
  const TEXT = 13, SMALL = 11, EDGE = 11, MARK = 26; // sizes of letters; room left of a text, and for the mark that folds
  const COLOURS = ["blue", "orange", "green", "pink", "sky", "red", "yellow", "grey"];
  const LEAST_ZOOM = 0.002, MOST_ZOOM = 4, FAR = 0.4, READABLE = 0.75; // below FAR no text can be read
  const LEAST_LINE = 8.5; // pixels of a letter on the map; where a box is lower, it stays without words
  const FIRST_NODES = 40; // opened at first: as many levels as have about so many nodes

  const state = { member: 0, open: new Set(), chosen: 0, row: null, x: 0, y: 0, zoom: 1 };
  let tree, parents, layout, drawn = new Map(), onPath = new Set();
  let waiting = false, isStale = true; // a drawing is asked for; nodes have moved, or changed

  // ---- Making elements -------------------------------------------------------------------------------

  const svgElement = (name, attributes, parent) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (parent) parent.append(element);
    return element;
  };
  const element = (name, text, parent) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };
  const ruler = document.createElement("canvas").getContext("2d"); // letters differ in width: a count says little
  const widthOf = (text, size) => {
    ruler.font = `${size}px ${getComputedStyle(canvas).fontFamily}`;
    return ruler.measureText(text).width;
  };
  const cut = (text, room, size = TEXT) => { // the longest beginning that fits, if not all
    if (widthOf(text, size) <= room) return text;
    const letters = Array.from(text);
    let fits = 0, fails = letters.length;
    while (fails - fits > 1) {
      const middle = (fits + fails) >> 1;
      if (widthOf(letters.slice(0, middle).join("") + "…", size) <= room) fits = middle; else fails = middle;
    }
    return letters.slice(0, fits).join("") + "…";
  };
  const cutTest = (text, room, size = TEXT) => { // a name is rather cut than a threshold or a count
    const at = Math.max(text.lastIndexOf(" <= "), text.lastIndexOf(" in "));
    const asked = at < 0 ? "" : text.slice(at);
    if (at < 0 || widthOf(`…${asked}`, size) > room) return cut(text, room, size);
    return cut(text.slice(0, at), room - widthOf(asked, size), size) + asked;
  };
  const percent = (share) =>
    share === 0 || share === 1 ? `${100 * share} %`
    : share < 0.001 ? "<0.1 %"
    : share > 0.999 ? ">99.9 %"
    : `${(100 * share).toFixed(share < 0.01 || share > 0.99 ? 1 : 0)} %`;
  const colourOf = (number) => COLOURS[Math.min(number, COLOURS.length - 1)];

  // ---- The tree and where its nodes are --------------------------------------------------------------

  const take = (member) => {
    state.member = member;
    tree = data.members[member];
    parents = new Int32Array(tree.node.length).fill(-1);
    tree.children.forEach((children, node) => children.forEach((child) => { parents[child] = node; }));
    state.open = firstLevels();
    state.chosen = 0;
    clear();
    follow(state.row);
    arrange();
    fit(READABLE);
  };

  const firstLevels = () => {
    const open = new Set();
    let level = [0], shown = 1;
    while (level.length) {
      const next = level.flatMap((node) => tree.children[node]);
      shown += next.length;
      if (shown > FIRST_NODES && open.size) break;
      level.forEach((node) => { if (tree.children[node].length) open.add(node); });
      level = next;
    }
    return open;
  };

  const arrange = () => {
    const shown = [], depth = new Map([[0, 0]]), height = new Map();
    const stack = [0];
    let lines = 0;
    while (stack.length) { // every node before its children, and these in order
      const node = stack.pop();
      shown.push(node);
      if (state.open.has(node)) {
        for (const child of [...tree.children[node]].reverse()) {
          depth.set(child, depth.get(node) + 1);
          stack.push(child);
        }
      } else {
        height.set(node, lines++);
      }
    }
    for (const node of [...shown].reverse()) { // a parent stands in the middle of its children
      if (height.has(node)) continue;
      const children = tree.children[node];
      height.set(node, (height.get(children[0]) + height.get(children[children.length - 1])) / 2);
    }
    const place = (node) => [depth.get(node) * COLUMN, height.get(node) * LINE];
    layout = new Map(shown.map((node) => [node, place(node)]));
    layout.width = (Math.max(...depth.values()) + 1) * COLUMN;
    layout.lines = lines;
    isStale = true;
    redraw();
  };

  // ---- Drawing: only what the window shows is in the document, and of a tree seen from afar only a map ---

  const clear = () => {
    drawn.forEach(({ group, link }) => { group.remove(); if (link) link.remove(); });
    drawn = new Map();
  };

  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  const draw = () => {
    const { width, height } = canvas.getBoundingClientRect();
    const left = -state.x / state.zoom - COLUMN, right = (width - state.x) / state.zoom + COLUMN;
    const top = -state.y / state.zoom - LINE, bottom = (height - state.y) / state.zoom + LINE;
    const isSeen = (node) => {
      const [x, y] = layout.get(node), above = parents[node];
      const from = above < 0 ? y : layout.get(above)[1]; // the line from the parent may be all that is seen
      return x + WIDTH >= left && x - COLUMN <= right && Math.max(y, from) >= top && Math.min(y, from) <= bottom;
    };
    const seen = [...layout.keys()].filter(isSeen);
    const isFar = state.zoom < FAR;
    paintMap(isFar ? seen : [], width, height);
    update(isFar ? [] : seen);
    canvas.dataset.seen = seen.length;
  };

  const update = (seen) => { // the elements of the nodes that can be read
    world.setAttribute("transform", `translate(${state.x} ${state.y}) scale(${state.zoom})`);
    const kept = new Set(seen);
    drawn.forEach(({ group, link }, node) => {
      if (kept.has(node)) return;
      group.remove();
      if (link) link.remove();
      drawn.delete(node);
    });
    seen.forEach((node) => {
      const isNew = !drawn.has(node);
      if (isNew) drawn.set(node, make(node));
      if (isNew || isStale) put(node, layout.get(node));
    });
    isStale = false;
  };

  // Thousands of elements would make every movement a stutter; as many strokes on a bitmap do not.
  const paintMap = (seen, width, height) => {
    const scale = devicePixelRatio, brush = map.getContext("2d");
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (map.width !== w || map.height !== h) [map.width, map.height] = [w, h];
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.clearRect(0, 0, w, h);
    if (!seen.length) return;
    const style = getComputedStyle(canvas), colour = (name) => style.getPropertyValue(`--${name}`);
    brush.setTransform(scale * state.zoom, 0, 0, scale * state.zoom, scale * state.x, scale * state.y);
    paintLinks(brush, seen, colour);
    paintBoxes(brush, seen, colour);
  };

  const paintLinks = (brush, seen, colour) => { // lines of one width are one stroke
    const hair = 0.7 / state.zoom, lines = new Map();
    seen.forEach((node) => {
      if (!node) return;
      const key = onPath.has(node) ? "on" : Math.ceil(7 * tree.share[node]);
      if (!lines.has(key)) lines.set(key, new Path2D());
      const [x, y] = layout.get(node), [x0, y0] = layout.get(parents[node]);
      const start = x0 + WIDTH, middle = (start + x) / 2;
      lines.get(key).moveTo(start, y0);
      lines.get(key).bezierCurveTo(middle, y0, middle, y, x, y);
    });
    [...lines.keys()].sort((a, b) => (a === "on") - (b === "on")).forEach((key) => { // the row's way on top
      brush.strokeStyle = colour(key === "on" ? "accent" : "line");
      brush.lineWidth = Math.max(hair, key === "on" ? 4 * hair : 1 + key);
      brush.stroke(lines.get(key));
    });
  };

  const paintBoxes = (brush, seen, colour) => {
    const fills = Object.fromEntries(COLOURS.map((name) => [name, colour(name)]));
    const [surface, faint, accent, ink] = ["surface", "faint", "accent", "ink"].map(colour);
    const isTiny = HEIGHT * state.zoom < 6; // an outline would leave no room for the colour
    // Boxes grow as far as their lines allow, so that there is room for words.
    const tall = Math.max(HEIGHT, 1.5 / state.zoom, Math.min(0.88 * LINE, (LEAST_LINE + 3) / state.zoom));
    brush.lineWidth = 0.7 / state.zoom;
    seen.forEach((node) => {
      const [x, y] = layout.get(node), isLeaf = !tree.children[node].length;
      brush.fillStyle = isTiny && !isLeaf ? faint : surface;
      brush.fillRect(x, y - tall / 2, WIDTH, tall);
      if (isLeaf) {
        brush.globalAlpha = Math.min(1, strengthOf(node) * (isTiny ? 2 : 1));
        brush.fillStyle = fills[shadeOf(node)];
        brush.fillRect(x, y - tall / 2, WIDTH, tall);
        brush.globalAlpha = 1;
      }
      const isMarked = node === state.chosen || onPath.has(node);
      if (isTiny && !isMarked) return;
      brush.strokeStyle = node === state.chosen ? ink : isMarked ? accent : faint;
      brush.strokeRect(x, y - tall / 2, WIDTH, tall);
      if (tall * state.zoom >= LEAST_LINE + 1) write(brush, node, x, y, ink);
    });
  };

  const write = (brush, node, x, y, ink) => { // in letters that can be read, as many as there is room for
    const size = LEAST_LINE / state.zoom, room = WIDTH - 0.6 * size;
    brush.fillStyle = ink;
    brush.font = `${size}px ${getComputedStyle(canvas).fontFamily}`;
    brush.textBaseline = "middle";
    const text = tree.children[node].length ? testText(node, room, size) : answerText(node, room, size);
    brush.fillText(text, x + 0.3 * size, y);
  };

  const make = (node) => {
    const isLeaf = !tree.children[node].length;
    const group = svgElement("g", { class: "node", "data-node": tree.node[node] }, nodes);
    svgElement("rect", { class: "box", x: 0, y: -HEIGHT / 2, width: WIDTH, height: HEIGHT, rx: isLeaf ? 3 : 13 }, group);
    if (isLeaf) shade(node, group);
    const text = isLeaf ? answerText(node, WIDTH - 2 * EDGE) : testText(node, WIDTH - EDGE - MARK);
    svgElement("text", { class: "words", x: EDGE, y: data.classes ? -3 : 0 }, group).textContent = text;
    bar(node, group);
    if (node) svgElement("text", { class: "way", x: 4, y: -HEIGHT / 2 - 8 }, group).textContent = cut(tree.way[node], WIDTH, SMALL);
    if (!isLeaf) svgElement("text", { class: "more", x: WIDTH - 13, y: -1 }, group);
    const link = node ? svgElement("path", { class: "link", "stroke-width": 1 + 7 * tree.share[node] }, links) : null;
    return { group, link };
  };

  const testText = (node, room, size = TEXT) => { // all of it, or briefly, or cut
    const whole = tree.test[node];
    return widthOf(whole, size) <= room ? whole : cutTest(tree.brief[node], room, size);
  };

  const said = (node) => (data.adds ? `adds ${signed(tree.answer[node])}` : tree.answer[node]);
  const signed = (number) => (number.startsWith("-") ? `−${number.slice(1)}` : `+${number}`);

  const answerText = (node, room, size = TEXT) => {
    const shares = tree.shares && tree.shares[node], share = shares ? ` ${percent(shares[1])}` : "";
    return cut(said(node), room - widthOf(share, size), size) + share;
  };

  const shadeOf = (node) => (tree.shares ? colourOf(tree.shares[node][0]) : "blue");
  const strengthOf = (node) =>
    tree.shares ? 0.12 + 0.4 * tree.shares[node][1] ** 2 : 0.08 + 0.45 * tree.height[node];

  const shade = (node, group) => {
    svgElement("rect", {
      class: `shade fill-${shadeOf(node)}`, x: 0.5, y: -HEIGHT / 2 + 0.5, width: WIDTH - 1, height: HEIGHT - 1, rx: 3,
      "fill-opacity": strengthOf(node).toFixed(3), "pointer-events": "none",
    }, group);
  };

  const bar = (node, group) => { // the shares of the classes, side by side, at the foot of the box
    const shares = tree.shares && tree.shares[node];
    if (!shares) return;
    let at = 10;
    for (let k = 0; k < shares.length; k += 2) {
      const width = shares[k + 1] * (WIDTH - 36);
      svgElement("rect", {
        class: `bar fill-${colourOf(shares[k])}`, x: at.toFixed(1), y: HEIGHT / 2 - 7, width: width.toFixed(1), height: 3,
      }, group);
      at += width;
    }
  };

  const put = (node, [x, y]) => {
    const { group, link } = drawn.get(node);
    group.setAttribute("transform", `translate(${x} ${y})`);
    group.classList.toggle("chosen", node === state.chosen);
    group.classList.toggle("on", onPath.has(node));
    const more = group.querySelector(".more");
    if (more) more.textContent = tree.children[node].length ? (state.open.has(node) ? "−" : "+") : "";
    if (!link) return;
    const [x0, y0] = layout.get(parents[node]);
    const start = x0 + WIDTH, middle = (start + x) / 2;
    link.setAttribute("d", `M${start} ${y0}C${middle} ${y0} ${middle} ${y} ${x} ${y}`);
    link.classList.toggle("on", onPath.has(node));
  };

  // ---- What is known about a node --------------------------------------------------------------------

  const pathTo = (node) => {
    const path = [];
    for (let at = node; at >= 0; at = parents[at]) path.push(at);
    return path.reverse();
  };

  const tell = (node) => {
    facts.replaceChildren();
    const isLeaf = !tree.children[node].length && !tree.cut.includes(node);
    const end = data.adds ? `Adds ${signed(tree.answer[node])} to the score` : `Answer: ${tree.answer[node]}`;
    element("h4", isLeaf ? end : tree.test[node], facts);
    const list = element("dl", undefined, facts);
    const line = (name, value) => { element("dt", name, list); element("dd", value, list); };
    line("Node", String(tree.node[node]));
    line("Rows", `${tree.rows[node]} (${percent(tree.share[node])})`);
    if (tree.children[node].length) line(tree.shares ? "Most are" : data.adds ? "Mean step" : "Mean", tree.answer[node]);
    if (tree.impurity) line("Impurity", String(tree.impurity[node]));
    if (tree.children[node].length) line("Gain per row", String(tree.gain[node]));
    if (tree.cut.includes(node)) line("Below", "too large for this page");
    if (tree.shares) tellShares(node);
    tellPath(node);
  };

  const tellShares = (node) => {
    const list = element("ul", undefined, facts), shares = tree.shares[node];
    list.className = "shares";
    for (let k = 0; k < shares.length; k += 2) {
      const item = element("li", `${data.classes[shares[k]]}: ${percent(shares[k + 1])}`, list);
      const picture = svgElement("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, item);
      svgElement("rect", { class: "fill-line", width: 100, height: 6 }, picture);
      svgElement("rect", { class: `fill-${colourOf(shares[k])}`, width: 100 * shares[k + 1], height: 6 }, picture);
    }
  };

  const tellPath = (node) => {
    const path = pathTo(node);
    const row = state.row === null ? null : data.rows[state.row];
    if (path.length < 2 && !row) return;
    const part = element("div", undefined, facts);
    part.className = "path";
    if (row) {
      element("strong", `Row ${row.number}`, part);
      element("div", `is ${row.truth}, the model says ${row.said}`, part);
    } else {
      element("strong", "How rows get here", part);
    }
    const steps = element("ol", undefined, part);
    path.slice(1).forEach((below) => {
      const above = parents[below];
      const value = row && onPath.has(below) ? `${data.names[tree.feature[above]]} is ${row.values[tree.feature[above]]}; ` : "";
      element("li", `${value}${tree.reached[below]}`, steps);
    });
  };

  // ---- Opening, choosing, following ------------------------------------------------------------------

  const choose = (node) => {
    state.chosen = node;
    tell(node);
    isStale = true;
    redraw();
  };

  const toggle = (node) => {
    if (tree.children[node].length) {
      if (state.open.has(node)) state.open.delete(node); else state.open.add(node);
      const [x, y] = layout.get(node);
      arrange();
      const [newX, newY] = layout.get(node); // the node stays under the pointer
      state.x += (x - newX) * state.zoom;
      state.y += (y - newY) * state.zoom;
    }
    choose(node);
  };

  const follow = (row) => {
    state.row = row;
    onPath = new Set(row === null ? [] : pathTo(data.paths[state.member][row]));
    onPath.forEach((node) => { if (tree.children[node].length) state.open.add(node); });
  };

  const showRow = (row) => {
    follow(row);
    arrange();
    if (row === null) { choose(0); return; }
    const leaf = data.paths[state.member][row];
    choose(leaf);
    centre(leaf);
  };

  const setAll = (isOpen) => {
    state.open = new Set();
    if (isOpen) tree.children.forEach((children, node) => { if (children.length) state.open.add(node); });
    if (!layout.has(state.chosen) || !isOpen) state.chosen = 0;
    follow(state.row === null || !isOpen ? null : state.row);
    byId("row").value = state.row === null ? "" : String(state.row);
    arrange();
    choose(state.chosen);
    fit(LEAST_ZOOM);
  };

  // ---- Moving about ----------------------------------------------------------------------------------

  const zoomAt = (factor, x, y) => {
    const zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, state.zoom * factor));
    state.x = x - (x - state.x) * (zoom / state.zoom);
    state.y = y - (y - state.y) * (zoom / state.zoom);
    state.zoom = zoom;
    redraw();
  };

  const zoomMiddle = (factor) => {
    const { width, height } = canvas.getBoundingClientRect();
    zoomAt(factor, width / 2, height / 2);
  };

  const fit = (leastZoom) => { // all of it, or as much beside the root as the least zoom allows
    const { width, height } = canvas.getBoundingClientRect();
    const whole = Math.min((width - 32) / (layout.width - COLUMN + WIDTH), (height - 40) / (layout.lines * LINE));
    state.zoom = Math.min(1, Math.max(leastZoom, whole));
    const middle = whole < state.zoom ? layout.get(0)[1] : ((layout.lines - 1) / 2) * LINE;
    // What is narrower than the window stands in its middle, where zooming in finds it.
    state.x = Math.max(16, (width - (layout.width - COLUMN + WIDTH) * state.zoom) / 2);
    state.y = height / 2 + 6 - middle * state.zoom;
    redraw();
  };

  const centre = (node) => {
    const { width, height } = canvas.getBoundingClientRect();
    const [x, y] = layout.get(node);
    state.zoom = Math.max(state.zoom, 0.8);
    state.x = width * 0.62 - (x + WIDTH / 2) * state.zoom;
    state.y = height / 2 - y * state.zoom;
    redraw();
  };

  const reveal = (node) => { // move no more than needed
    const { width, height } = canvas.getBoundingClientRect();
    const [x, y] = layout.get(node);
    const left = x * state.zoom + state.x, top = y * state.zoom + state.y;
    if (left < 16) state.x += 16 - left;
    if (left + WIDTH * state.zoom > width - 16) state.x -= left + WIDTH * state.zoom - width + 16;
    if (top < 40) state.y += 40 - top;
    if (top > height - 30) state.y -= top - height + 30;
    redraw();
  };

  const nodeUnder = ({ clientX, clientY }) => {
    const box = canvas.getBoundingClientRect();
    const atX = (clientX - box.left - state.x) / state.zoom, atY = (clientY - box.top - state.y) / state.zoom;
    for (const [node, [x, y]] of layout) {
      if (atX >= x && atX <= x + WIDTH && Math.abs(atY - y) <= HEIGHT / 2) return node;
    }
    return null;
  };

  const listen = () => {
    const pointers = new Map();
    let moved = 0, pressed = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      pressed = nodeUnder(event);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      if (pointers.size === 1) moved = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!pointers.has(event.pointerId)) {
        const node = nodeUnder(event);
        if (node !== null && event.pointerType === "mouse") tell(node);
        return;
      }
      const [x, y] = pointers.get(event.pointerId);
      const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      if (others.length) {
        const [ox, oy] = others[0], box = canvas.getBoundingClientRect();
        const before = Math.hypot(x - ox, y - oy), after = Math.hypot(event.clientX - ox, event.clientY - oy);
        if (before > 0) zoomAt(after / before, (ox + event.clientX) / 2 - box.left, (oy + event.clientY) / 2 - box.top);
        moved = 100;
        return;
      }
      moved += Math.abs(event.clientX - x) + Math.abs(event.clientY - y);
      if (moved < 4) return;
      canvas.classList.add("moving");
      state.x += event.clientX - x;
      state.y += event.clientY - y;
      redraw();
    });
    const release = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      canvas.classList.remove("moving");
      if (event.type === "pointerup" && moved < 4 && pressed !== null) toggle(pressed);
      pressed = null;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => tell(state.chosen));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoomAt(Math.exp(-event.deltaY * 0.0022), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener("keydown", onKey);
    byId("nearer").addEventListener("click", () => zoomMiddle(1.4));
    byId("farther").addEventListener("click", () => zoomMiddle(1 / 1.4));
    byId("fit").addEventListener("click", () => fit(LEAST_ZOOM));
    byId("expand").addEventListener("click", () => setAll(true));
    byId("collapse").addEventListener("click", () => setAll(false));
    byId("member").addEventListener("change", (event) => {
      take(Number(event.target.value));
      if (state.row === null) choose(0); else showRow(state.row);
    });
    byId("row").addEventListener("change", (event) => showRow(event.target.value === "" ? null : Number(event.target.value)));
    new ResizeObserver(redraw).observe(canvas);
    // A bitmap does not change its colours with the page.
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  };

  const onKey = (event) => {
    const at = state.chosen, above = parents[at];
    const siblings = above < 0 ? [at] : tree.children[above];
    const moves = {
      ArrowLeft: () => (above < 0 ? at : above),
      ArrowRight: () => {
        if (!tree.children[at].length) return at;
        if (!state.open.has(at)) { state.open.add(at); arrange(); }
        return tree.children[at][0];
      },
      ArrowUp: () => siblings[Math.max(0, siblings.indexOf(at) - 1)],
      ArrowDown: () => siblings[Math.min(siblings.length - 1, siblings.indexOf(at) + 1)],
      Enter: () => { toggle(at); return at; },
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    choose(moves[event.key]());
    reveal(state.chosen);
  };

  // ---- Beginning -------------------------------------------------------------------------------------

  const fillChoices = () => {
    const member = byId("member"), row = byId("row");
    data.members.forEach(({ title }, number) => { element("option", title, member).value = String(number); });
    byId("member-choice").hidden = data.members.length < 2;
    data.rows.forEach(({ number, truth, said }, position) => {
      const words = truth === said ? truth : `${truth}, the model says ${said}`;
      element("option", cut(`row ${number}: ${words}`, 400), row).value = String(position);
    });
  };

  const drawLegend = () => {
    const legend = byId("legend");
    if (!data.classes) {
      legend.textContent = data.adds
        ? "A leaf adds its number to the score of a row; the stronger its colour, the larger it is. Lines are as wide as the share of rows."
        : "The stronger its colour, the larger the number of a leaf. Lines are as wide as the share of rows.";
      return;
    }
    data.classes.slice(0, COLOURS.length).forEach((name, number) => {
      const item = element("span", undefined, legend);
      item.className = "legend-item";
      const picture = svgElement("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, item);
      svgElement("rect", { class: `fill-${colourOf(number)}`, width: 12, height: 12, rx: 3 }, picture);
      element("span", name, item);
    });
    element("span", "Lines are as wide as the share of rows.", legend);
  };

  viewer.hidden = false;
  fillChoices();
  drawLegend();
  take(0);
  choose(0);
  listen();
})();
