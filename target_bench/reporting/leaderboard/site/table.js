/* The table of a board: its columns, how cells read, and the order of its rows. */
const table = (() => {
  let board, state;

  const UNKNOWN = { no: "", yes: "trained on this corpus", unknown: "not known whether it was trained on this corpus" };
  const keyOf = (column) => column.key.replace("{k}", state.k);
  const labelOf = (column) => column.label.replace("{k}", state.k);

  function parameters(n) {
    if (n === null) return "?";
    if (n === 0) return "none";
    for (const [size, letter] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]]) {
      if (n >= size) return `${Number((n / size).toPrecision(3))}${letter}`;
    }
    return page.count(n);
  }
  function milliseconds(x) {
    if (x < 10) return x.toFixed(x < 1 ? 2 : 1);
    return page.count(Math.round(x));
  }
  function duration(x) {
    if (x < 1) return `${milliseconds(1000 * x)} ms`;
    if (x < 60) return `${x.toFixed(x < 10 ? 2 : 1)} s`;
    return `${page.count(Math.floor(x / 60))} min ${Math.round(x % 60)} s`;
  }
  const probability = (p) => (p === null || p === undefined ? "not tested" : p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`);

  /* Columns about the system itself: what they sort by, and what they show. */
  const zero = (row) => {
    const said = Object.values(row.trained);
    return said.length ? said.filter((x) => x === "no").length / said.length : null;
  };
  const about = [
    { name: "kind", value: (row) => row.kind, text: (row) => row.kind, first: "ascending" },
    { name: "size", value: (row) => row.parameters, text: (row) => parameters(row.parameters), numeric: true, about: "parameters of all models" },
    { name: "open", value: (row) => row.open, text: (row) => ({ true: "yes", false: "no" })[row.open] ?? "–", about: "open weights, or none" },
    {
      name: "zero-shot",
      value: zero,
      text: (row) => (zero(row) === null ? "–" : `${Math.round(100 * zero(row))}%`),
      numeric: true,
      about: "share of its corpora that no model of it was trained on, as its card says",
    },
    { name: "date", value: (row) => row.date || null, text: (row) => row.date || "–", about: "day of its latest run, as declared; of reported figures that of the paper" },
  ];

  /* The mean first, then the data; times are shown where they were asked for, or for one set of data. */
  function shownGroups() {
    const groups = board.groups.map((group, i) => ({ ...group, i })).filter((g) => state.group === "" || Number(state.group) === g.i);
    const timed = board.here !== "overview" || state.times || groups.length === 1;
    for (const group of groups) group.columns = group.columns.filter((column) => timed || column.kind !== "ms");
    return [...groups.filter((g) => g.mean), ...groups.filter((g) => !g.mean)];
  }
  const cellOf = (group, row, column) => group.cells[row]?.[keyOf(column)];
  const isReported = (row) => board.rows[row].page === null;

  /* All columns of the table as it is: {id, label, group, value(row), text(row), cell(row)}; the rank is the first. */
  function columns() {
    const own = about.map((one) => ({
      id: one.name, label: one.name, about: one.about, numeric: one.numeric, first: one.first,
      value: (row) => one.value(board.rows[row]),
      text: (row) => one.text(board.rows[row]),
    }));
    const scores = shownGroups().flatMap((group) => group.columns.map((column) => measured(group, column)));
    return [...(scores.length ? [ranked(scores[0])] : []), ...scores, ...own];
  }
  /* The place of a system among all verified ones that have the score. */
  function ranked(column) {
    const sign = column.column.lower ? -1 : 1;
    const values = board.rows.map((_, row) => (isReported(row) ? null : column.value(row)));
    const known = values.filter((x) => x !== null);
    const value = (row) => (values[row] === null ? null : 1 + known.filter((x) => sign * (x - values[row]) > 0).length);
    const name = [column.group.name, column.task, column.label].filter(Boolean).join(" ");
    return {
      id: "rank", label: "rank", about: `by ${name}, of all systems that have it`, numeric: true, first: "ascending",
      value, text: (row) => String(value(row) ?? "–"),
    };
  }
  function measured(group, column) {
    const value = (row) => cellOf(group, row, column)?.[0] ?? null;
    const values = Object.keys(group.cells).filter((row) => !isReported(row)).map(value).filter((x) => x !== null);
    const best = column.kind ? null : column.lower ? Math.min(...values) : Math.max(...values);
    const text = (row) => {
      const x = value(row);
      if (x === null) return group.partial?.[row] && !column.kind ? `${group.partial[row]}` : "–";
      if (column.kind === "ms") return milliseconds(x);
      if (column.kind === "s") return duration(x);
      if (column.kind === "count") return page.count(Math.round(x));
      return page.score(x, column.digits);
    };
    const cell = (row) => cellOf(group, row, column);
    const marked = Object.keys(group.cells).some((row) => marks({ group, column, cell, value }, row).length > 0);
    return {
      id: `${group.i}:${column.key}`, group, column, value, text, numeric: true,
      label: labelOf(column), about: column.about?.replace("{k}", state.k), task: column.task, version: column.version,
      first: column.kind || column.lower ? "ascending" : "descending",
      cell,
      marked, // then its cells have room for marks, so that figures stay below each other
      best: (row) => !column.kind && values.length > 1 && value(row) === best && !isReported(row),
      by: (row) => group.cells[row]?.[`${column.key}:by`],
    };
  }

  /* What the tests say of a cell: [sign, words] pairs. */
  function marks(column, row) {
    if (!column.cell || column.column.kind) return [];
    const [value, , , best, baseline] = column.cell(row) ?? [];
    const found = [];
    if (best !== null && best !== undefined && best >= board.level && !column.best?.(row)) found.push(["≈", "not significantly different from the best"]);
    if (baseline !== null && baseline !== undefined && baseline < board.level) {
      const better = column.column.lower ? value < baselineValue(column) : value > baselineValue(column);
      found.push(better ? ["▲", "better than the baseline"] : ["▼", "worse than the baseline"]);
    }
    if (column.column.key.startsWith("recall@")) {
      const trained = board.rows[row].trained[column.group.corpus];
      if (trained === "yes") found.push(["†", UNKNOWN.yes]);
      if (trained === "unknown") found.push(["?", UNKNOWN.unknown]);
    }
    return found;
  }
  const baselineValue = (column) => column.group.baseline[keyOf(column.column)];

  function sorted(rows) {
    const column = columns().find((one) => one.id === state.sort);
    const value = column ? column.value : (row) => board.rows[row].name.toLowerCase();
    const sign = state.order === "ascending" ? 1 : -1;
    const keyed = rows.map((row) => [value(row), row]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j;
      return sign * (typeof a === "string" ? a.localeCompare(b) : a - b) || i - j;
    });
    return keyed.map(([, row]) => row);
  }

  /* Drawing. */
  function head(column) {
    const active = state.sort === column.id;
    const button = page.el("button", { type: "button", class: "sort", title: column.about, "data-sort": column.id });
    if (column.task) button.append(page.el("span", { class: "of-task", text: `${column.task} ` }));
    button.append(column.label);
    if (column.version) button.append(page.el("span", { class: "version", text: ` ${column.version}` }));
    return page.el("th", { scope: "col", class: column.numeric ? "num" : null, "aria-sort": active ? state.order : null, "data-first": column.first, "data-column": column.id }, button);
  }
  function heads(rank, all) {
    const own = all.filter((column) => !column.group);
    const name = head({ id: "name", label: "system", first: "ascending" });
    name.className = "system";
    const before = [...rank.map(head), name];
    const beside = own.map(head);
    for (const th of [...before, ...beside]) th.rowSpan = 2;
    const over = shownGroups().map((group) => {
      const th = page.el("th", { scope: "colgroup", class: "group" }, page.el("span", { class: "data", text: group.name }));
      th.append(page.el("span", { class: "range", text: group.queries }));
      if (group.version) th.append(page.el("span", { class: "badge warn", text: group.version }));
      th.colSpan = group.columns.length;
      return th;
    });
    const top = page.el("tr", {}, ...before, ...over, ...beside);
    const below = page.el("tr", {}, ...all.filter((column) => column.group).map(head));
    markFirsts([...below.cells], all);
    return [top, below];
  }
  function markFirsts(cells, all) {
    all.filter((column) => column.group).forEach((column, i) => {
      if (column.group.columns[0] === column.column) cells[i].classList.add("first");
    });
  }
  /* The entry, where another one has a system of the same names. */
  function entryOf(row) {
    const alike = row.page !== null && board.rows.some((other) => other.page !== row.page && other.name === row.name && other.retriever === row.retriever);
    return alike ? `entry ${row.page.replace(/\.html$/, "")}` : null;
  }
  const rowLabel = (row) => [row.retriever, entryOf(row)].filter(Boolean).join(", ");
  function nameCell(row) {
    const one = board.rows[row];
    const link = isReported(row)
      ? page.el("a", { class: "data", href: one.url, rel: "noopener noreferrer external", text: one.name, title: one.note })
      : page.el("a", { class: "data", href: `${board.root}entries/${one.page}`, text: one.name });
    const th = page.el("th", { scope: "row", class: "system" }, link);
    if (isReported(row)) th.append(" ", page.el("span", { class: "badge", text: "reported" }));
    if (one.baseline) th.append(" ", page.el("span", { class: "badge", text: "baseline" }));
    if (one.suspicious) th.append(" ", page.el("span", { class: "badge warn", text: "suspicious" }));
    th.append(page.el("span", { class: "range data", text: rowLabel(one) }));
    if (one.generator !== null) th.append(page.el("span", { class: "range data" }, "answers: ", page.el("span", { class: "data", text: one.generator })));
    return th;
  }
  const mark = ([sign, words]) => [
    page.el("span", { class: "mark", "aria-hidden": "true", text: sign }),
    page.el("span", { class: "sr-only", text: `, ${words}` }),
  ];
  function bodyCell(column, row) {
    const td = page.el("td", { class: column.numeric ? "num" : null });
    const value = page.el("span", { class: "value", text: column.text(row) });
    td.append(value);
    if (column.value(row) === null) td.classList.add("soft");
    if (!column.cell) return td;
    if (column.group.columns[0] === column.column) td.classList.add("first");
    if (column.best(row)) {
      td.classList.add("best");
      value.append(page.el("span", { class: "sr-only", text: ", the best of the column" }));
    }
    const [, low, high, best, baseline] = column.cell(row) ?? [];
    if (column.marked) value.append(page.el("span", { class: "marks" }, ...marks(column, row).flatMap(mark)));
    if (best !== undefined || baseline !== undefined) td.title = `against the best: ${probability(best)}; against the baseline: ${probability(baseline)} (Holm)`;
    if (low !== undefined && low !== null) td.append(page.el("span", { class: "range", text: page.interval(low, high, column.column.digits) }));
    if (column.by && column.by(row)) td.append(page.el("span", { class: "range data by", text: column.by(row), title: column.by(row) }));
    return td;
  }
  function draw(node, rows) {
    const found = columns();
    if (state.sort !== "name" && !found.some((column) => column.id === state.sort)) {
      sortBy(initial(found));
    }
    const order = sorted(rows);
    const [rank, all] = [found.filter((column) => column.id === "rank"), found.filter((column) => column.id !== "rank")];
    node.tHead.replaceChildren(...heads(rank, all));
    const body = document.createDocumentFragment();
    for (const row of order) {
      const cells = (some) => some.map((column) => bodyCell(column, row));
      body.append(page.el("tr", { "data-row": row, class: isReported(row) ? "reported" : null }, ...cells(rank), nameCell(row), ...cells(all)));
    }
    node.tBodies[0].replaceChildren(body);
    return order;
  }
  const initial = (all) => all.find((c) => c.group) ?? all[0];
  const sortBy = (column) => ([state.sort, state.order] = [column.id, column.column?.lower ? "ascending" : "descending"]);

  /* The table as plain cells, for copying; with bounds and p-values of their own for CSV. */
  function matrix(rows, numbers) {
    const found = columns();
    const rank = found.find((column) => column.id === "rank");
    const all = found.filter((column) => column !== rank);
    const parts = numbers ? ["low", "high", "p (best)", "p (baseline)"] : [];
    const about = (group) => (group?.about ? `(${group.about})` : "");
    const unit = (column) => (numbers && column.column?.kind === "s" ? "in s" : numbers && column.column?.kind === "ms" && column.label !== "ms/query" ? "in ms" : "");
    const named = (column) => [column.group?.name, about(column.group), column.group?.version, column.task, column.label, column.version, unit(column)].filter(Boolean).join(" ");
    const scored = (column) => numbers && column.cell && !column.column.kind;
    const first = [...(rank ? ["rank"] : []), "system", "retriever", ...(board.rows.some((r) => r.generator !== null) ? ["generator"] : [])];
    const header = [...first, ...all.flatMap((c) => [named(c), ...(scored(c) ? parts.map((part) => `${named(c)} ${part}`) : [])])];
    const body = rows.map((row) => {
      const one = board.rows[row];
      return [
        ...[...(rank ? [rank.text(row)] : []), entryOf(one) ? `${one.name} (${entryOf(one)})` : one.name, isReported(row) ? `reported: ${one.retriever}` : one.retriever, one.generator ?? ""].slice(0, first.length),
        ...all.flatMap((column) => {
          if (!numbers) return [column.text(row) + marks(column, row).map(([sign]) => ` ${sign}`).join("")];
          const value = column.group ? column.value(row) ?? "" : column.text(row);
          return [value, ...(scored(column) ? [1, 2, 3, 4].map((i) => column.cell(row)?.[i] ?? "") : [])];
        }),
      ].map(String);
    });
    const best = rows.map((row) => [...first.map(() => false), ...all.map((c) => Boolean(c.best && c.best(row)))]);
    return { header, body, best, numeric: [...first.map((name) => name === "rank"), ...all.map((c) => Boolean(c.numeric))] };
  }

  function setUp(found, its) {
    [board, state] = [found, its];
    sortBy(initial(columns()));
  }
  return { setUp, draw, matrix, shownGroups, isReported, rowLabel, parameters, milliseconds };
})();
