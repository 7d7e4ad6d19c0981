/* A tree as a picture, root on the left: boxes with a test or an answer, and the shares of the classes below. */
const BOX = 190, BOX_HEIGHT = 34, ACROSS = 228, DOWN = 54;

const testText = (text, most) => { // a name is rather cut than a threshold
  const at = text.lastIndexOf(" <= ");
  return at < 0 || text.length <= most ? cutText(text, most) : cutText(text.slice(0, at), most - (text.length - at)) + text.slice(at);
};

const layoutOf = (nodes) => { // a leaf gets a line of its own, a parent the middle of its children
  const place = nodes.map(() => [0, 0]);
  let lines = 0;
  const visit = (node, depth) => {
    place[node][0] = 10 + depth * ACROSS;
    const children = nodes[node].children;
    if (!children.length) { place[node][1] = 30 + DOWN * lines++; return; }
    children.forEach((child) => visit(child, depth + 1));
    place[node][1] = (place[children[0]][1] + place[children[children.length - 1]][1]) / 2;
  };
  visit(0, 0);
  return { place, width: Math.max(...place.map(([x]) => x)) + BOX + 14, height: 24 + DOWN * lines };
};

const treePicture = (parent, nodes, label) => {
  const scroll = html("div", { class: "picture-scroll", tabindex: 0, role: "region", "aria-label": label }, parent);
  const { place, width, height } = layoutOf(nodes);
  const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, scroll);
  const links = draw("g", {}, svg);
  const made = nodes.map((node, k) => {
    const [x, y] = place[k];
    const group = draw("g", { class: "node", transform: `translate(${x} ${y})`, "data-node": k }, svg);
    draw("rect", { class: "box", x: 0, y: -BOX_HEIGHT / 2, width: BOX, height: BOX_HEIGHT, rx: 4 }, group);
    const words = draw("text", { class: "words", x: 10, y: node.counts ? -3 : 0 }, group);
    const way = draw("text", { class: "way", x: 2, y: -BOX_HEIGHT / 2 - 8 }, group, cutText(node.way, 30));
    let link = null;
    if (node.parent >= 0) {
      const [x0, y0] = place[node.parent], middle = (x0 + BOX + x) / 2;
      link = draw("path", { class: "link", d: `M${x0 + BOX} ${y0}C${middle} ${y0} ${middle} ${y} ${x} ${y}` }, links);
    }
    if (node.counts) {
      const total = node.counts.reduce((a, b) => a + b, 0) || 1;
      let at = 10;
      node.counts.forEach((count, code) => {
        const wide = (count / total) * (BOX - 20);
        if (count) draw("rect", { class: `fill-${colourOf(code)}`, x: at.toFixed(1), y: BOX_HEIGHT / 2 - 9, width: wide.toFixed(1), height: 4 }, group);
        at += wide;
      });
    }
    return { group, words, way, link, shares: [...group.querySelectorAll("[class^=fill]")] };
  });
  /* stateOf(node): "split", "leaf" or "hidden"; now is the node that the step is about. */
  const show = (stateOf, now) => {
    made.forEach(({ group, words, way, link, shares }, k) => {
      const state = stateOf(k), node = nodes[k];
      const isHidden = state === "hidden";
      group.classList.toggle("gone", isHidden);
      group.classList.toggle("now", k === now);
      shares.forEach((share) => share.setAttribute("visibility", isHidden ? "hidden" : "visible")); // or they give it away
      if (link) link.classList.toggle("gone", isHidden);
      words.textContent = isHidden ? "" : testText(state === "split" ? node.brief || node.test : `${node.answer} (${node.rows})`, 25);
      way.textContent = isHidden ? "" : cutText(node.way, 30);
      group.dataset.state = state;
    });
    const [x, y] = place[Math.max(now, 0)];
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = scroll; // move no more than needed
    if (x < scrollLeft || x + BOX > scrollLeft + clientWidth) scroll.scrollLeft = x - clientWidth / 2 + BOX / 2;
    if (y - DOWN < scrollTop || y + DOWN > scrollTop + clientHeight) scroll.scrollTop = y - clientHeight / 2;
  };
  return { show };
};
