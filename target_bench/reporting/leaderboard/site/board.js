/* What ties filters, table and charts of a board together. */
(() => {
  const control = (id) => document.getElementById(id);
  const board = JSON.parse(control("data").textContent);
  const state = { k: board.k, group: "", times: false, sort: "", order: "descending", rows: [] };

  function refresh() {
    state.k = Number(control("k").value) || board.k;
    state.group = control("group").value;
    state.times = control("times").checked;
    const rows = filters.rows(board, table.shownGroups());
    state.rows = table.draw(control("scores"), rows);
    const reported = board.rows.filter((_, row) => table.isReported(row)).length;
    const all = page.plural(board.rows.length - reported, "system") + (reported ? ` and ${page.count(reported)} reported by papers` : "");
    control("found").textContent = rows.length === board.rows.length ? all : `${page.count(rows.length)} of ${all}`;
    control("nothing").hidden = rows.length > 0;
    control("region").hidden = rows.length === 0;
    fillCharts();
    drawCharts();
  }
  function fillCharts() {
    const select = control("chart-group");
    const groups = table.shownGroups().filter((group) => group.columns.some((column) => column.key === "recall@{k}"));
    const chosen = select.value;
    select.replaceChildren(...groups.map((group) => page.el("option", { value: group.i, text: [group.name, group.queries, group.version].filter(Boolean).join(", ") })));
    if (groups.some((group) => String(group.i) === chosen)) select.value = chosen;
    control("charts").hidden = groups.length === 0;
    control("field-chart-group").hidden = groups.length < 2;
  }
  /* With what tells a row from those that are called the same. */
  function fullName(row) {
    const alike = board.rows.filter((other) => other.name === row.name && other.generator === row.generator);
    const label = alike.length > 1 ? `${row.name} (${table.rowLabel(row)})` : row.name;
    return [label, row.generator].filter(Boolean).join(" + ");
  }

  function drawCharts() {
    const group = board.groups[Number(control("chart-group").value)];
    if (!group || control("charts").hidden) return;
    const recall = (row, k) => group.cells[row]?.[`recall@${k}`]?.[0] ?? null;
    const rows = state.rows.filter((row) => recall(row, state.k) !== null && !table.isReported(row));
    rows.sort((a, b) => recall(b, state.k) - recall(a, state.k) || a - b);
    const shown = rows.slice(0, charts.SERIES);
    const lines = shown.map((row) => [fullName(board.rows[row]), group.cutoffs.map((k) => [k, recall(row, k)]).filter(([, value]) => value !== null)]);
    const legend = (row, i) => page.el("li", { class: charts.series(i) }, page.el("a", { class: "data", href: `${board.root}entries/${board.rows[row].page}`, text: fullName(board.rows[row]) }));
    control("legend").replaceChildren(...shown.map(legend));
    control("more").textContent = rows.length > shown.length ? `The best ${shown.length} of ${rows.length} by R@${state.k} have a colour; filters choose others.` : "";
    const none = (text) => page.el("p", { class: "empty", text });
    control("recall-chart").replaceChildren(lines.length ? charts.recall(lines) : none(`No row that is shown has R@${state.k} here.`));
    const points = rows.flatMap((row, place) => {
      const cost = group.cells[row].ms?.[0];
      return cost > 0 ? [{ name: fullName(board.rows[row]), row, place, cost, value: recall(row, state.k) }] : [];
    });
    control("pareto").hidden = !group.columns.some((column) => column.key === "ms");
    const [picture, front] = points.length ? charts.pareto(points, `R@${state.k}`) : [none("No row that is shown says how long it took."), []];
    control("pareto-chart").replaceChildren(picture);
    control("front").replaceChildren(...front.map((p) => page.el("li", {}, page.el("a", { class: "data", href: `${board.root}entries/${board.rows[p.row].page}`, text: p.name }), ` R@${state.k} ${page.score(p.value)}, ${table.milliseconds(p.cost)} ms`)));
    control("pareto-title").textContent = `R@${state.k} over time`;
  }

  function sort(event) {
    const button = event.target.closest("[data-sort]");
    if (!button) return;
    const th = button.closest("th");
    const first = th.dataset.first ?? "descending";
    const other = first === "descending" ? "ascending" : "descending";
    const id = button.dataset.sort;
    state.order = state.sort === id && state.order === first ? other : first;
    state.sort = id;
    state.rows = table.draw(control("scores"), state.rows);
    [...control("scores").tHead.querySelectorAll("[data-sort]")].find((one) => one.dataset.sort === id)?.focus();
    page.announce(`sorted by ${button.textContent}, ${state.order}`);
  }
  function copy(event) {
    const form = event.target.dataset.copyForm;
    if (form) page.copy(copying[form](table.matrix(state.rows, form === "csv")), event.target);
  }

  filters.setUp(board);
  if (board.here !== "overview" && board.groups.length > 1) control("group").value = "0";
  state.group = control("group").value;
  table.setUp(board, state);
  let waiting;
  control("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 100);
  });
  control("filters").addEventListener("change", (event) => event.target.id !== "search" && refresh());
  control("filters").addEventListener("submit", (event) => event.preventDefault());
  control("filters").addEventListener("reset", () => setTimeout(() => {
    control("k").value = board.k;
    refresh();
  }));
  control("chart-group").addEventListener("change", drawCharts);
  control("scores").tHead.addEventListener("click", sort);
  control("copying").addEventListener("click", copy);
  refresh();
  document.documentElement.dataset.ready = "true";
})();
