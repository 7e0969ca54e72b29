/* Recall over k, and recall over time with the front of those that none beats. */
const charts = (() => {
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [440, 290, 44, 20, 10, 44];
  const SERIES = 8;
  const svg = (tag, props = {}, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const words = (x, y, text, props = {}) => svg("text", { x, y, ...props }, text);
  const titled = (node, text) => {
    node.append(svg("title", {}, text));
    return node;
  };
  const across = (share) => LEFT + share * (WIDTH - LEFT - RIGHT);
  const round = (x) => Math.round(x * 10) / 10;

  /* The vertical axis: from a round number below the smallest value to one above the largest. */
  function vertical(values) {
    const [least, most] = [Math.min(...values, 1), Math.max(...values, 0)];
    const step = most - least > 0.5 ? 0.2 : most - least > 0.2 ? 0.1 : 0.05;
    const low = Math.max(0, Math.floor(least / step - 0.2) * step);
    const high = Math.max(low + step, Math.min(1, Math.ceil(most / step) * step));
    const at = (value) => round(HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - BOTTOM - TOP));
    const nodes = [];
    for (let n = Math.round((high - low) / step); n >= 0; n--) {
      const level = low + n * step;
      nodes.push(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at(level), y2: at(level) }));
      nodes.push(words(LEFT - 6, at(level) + 4, level.toFixed(step < 0.1 ? 2 : 1), { "text-anchor": "end" }));
    }
    return { at, nodes };
  }
  function horizontal(ticks, label) {
    const y = HEIGHT - BOTTOM;
    return [
      svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y }),
      ...ticks.flatMap(([x, text]) => [
        svg("line", { class: "axis", x1: x, x2: x, y1: y, y2: y + 4 }),
        words(x, y + 18, text, { "text-anchor": "middle" }),
      ]),
      words((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, label, { class: "strong", "text-anchor": "middle" }),
    ];
  }
  const frame = (label, ...nodes) => svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, ...nodes);
  const series = (i) => (i < SERIES ? `s${i + 1}` : "others");

  /* lines: [name, [[k, value], ...]] */
  function recall(lines) {
    const ks = [...new Set(lines.flatMap(([, points]) => points.map(([k]) => k)))].sort((a, b) => a - b);
    const [first, last] = [ks[0], ks[ks.length - 1]];
    const x = (k) => round(across(first === last ? 0.5 : Math.log(k / first) / Math.log(last / first)));
    const y = vertical(lines.flatMap(([, points]) => points.map(([, value]) => value)));
    const drawn = lines.map(([name, points], i) => {
      const group = svg("g", { class: series(i) }, svg("polyline", { class: "line", points: points.map(([k, value]) => `${x(k)},${y.at(value)}`).join(" ") }));
      for (const [k, value] of points) group.append(titled(svg("circle", { class: "dot", cx: x(k), cy: y.at(value), r: 3.5 }), `${name}: R@${k} ${page.score(value)}`));
      return group;
    });
    return frame("Recall over k", ...y.nodes, ...horizontal(ks.map((k) => [x(k), k]), "k (tables retrieved)"), ...drawn.reverse());
  }

  /* points: {name, cost, value, place}; a point is on the front if none is both cheaper and better. */
  function onFront(points) {
    let best = -Infinity;
    return [...points].sort((a, b) => a.cost - b.cost || b.value - a.value).filter((p) => p.value > best && ((best = p.value), true));
  }
  /* A logarithmic axis from a 1, 2 or 5 below the least to one above the most. */
  function logarithmic(least, most) {
    const steps = [];
    for (let n = Math.floor(Math.log10(least)); n <= Math.ceil(Math.log10(most)) + 1; n++) steps.push(...[1, 2, 5].map((m) => Number(`${m}e${n}`)));
    const from = steps.findLastIndex((step) => step <= least);
    const to = Math.max(steps.findIndex((step) => step >= most), from + 1);
    const [low, high] = [steps[from], steps[to]];
    const x = (cost) => round(across(Math.log(cost / low) / Math.log(high / low)));
    const within = steps.slice(from, to + 1);
    const tens = within.filter((step) => /^1(e|0*$)|^0\.0*1$/.test(String(step)));
    const shown = within.length <= 7 ? within : tens.filter((_, i) => i % Math.ceil(tens.length / 7) === 0);
    return { x, ticks: shown.map((step) => [x(step), step < 1 ? String(step) : page.count(step)]) };
  }
  function pareto(points, label) {
    const costs = points.map((p) => p.cost);
    const scale = logarithmic(Math.min(...costs), Math.max(...costs));
    const y = vertical(points.map((p) => p.value));
    const front = onFront(points);
    const line = svg("polyline", { class: "front", points: front.map((p) => `${scale.x(p.cost)},${y.at(p.value)}`).join(" ") });
    const dots = [...points].sort((a, b) => b.place - a.place).map((p) => {
      const dot = svg("circle", { class: front.includes(p) ? "dot on-front" : "dot", cx: scale.x(p.cost), cy: y.at(p.value), r: front.includes(p) ? 5 : 3.5 });
      return svg("g", { class: series(p.place) }, titled(dot, `${p.name}: ${label} ${page.score(p.value)}, ${table.milliseconds(p.cost)} ms`));
    });
    return [frame(`${label} over milliseconds per query`, ...y.nodes, ...horizontal(scale.ticks, "milliseconds per query (declared)"), line, ...dots), front];
  }
  return { SERIES, recall, pareto, series };
})();
