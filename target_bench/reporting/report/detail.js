/* One query in full: question, reference, gold tables, and a column for each run that is looked at. */
const detail = (() => {
  const { el } = page;
  let overview;

  function setUp(given) {
    overview = given;
    marks.setUp(given);
  }
  const section = (title, ...nodes) => [el("h5", { text: title }), ...nodes];
  const block = (value) => el("pre", { class: "data", dir: "auto", tabindex: "0" }, ...shown.nodes(value));
  const paragraph = (value) => el("p", { class: "answer", dir: "auto" }, ...shown.nodes(value));
  const copyButton = (label, value) =>
    el("button", { type: "button", text: label, onclick: (event) => page.copy(shown.plain(value), event.currentTarget) });
  const isSQL = (query) => query.runs.some((run) => run.judged?.sql !== undefined);

  function facts(query) {
    const entries = [["id", query.id], ...Object.entries(query.facts)];
    return el("dl", { class: "facts" }, ...entries.flatMap(([name, value]) => [
      el("dt", { class: "data", text: name }),
      el("dd", { class: "data", dir: "auto" }, ...shown.nodes(value)),
    ]));
  }

  async function reference(query, words) {
    const answers = isSQL(query) ? query.answers.map(block) : query.answers.map(paragraph);
    const gold = await Promise.all(
      query.gold.map((number) => tables.entry(number, overview.columns, words, { gold: true, open: true })),
    );
    if (!answers.length && !gold.length) return null;
    return el(
      "section",
      { class: "column", "aria-label": "Reference" },
      el("h4", { text: "Reference" }),
      ...(answers.length
        ? section(
            answers.length > 1 ? "Accepted answers" : isSQL(query) ? "Gold SQL" : "Answer",
            ...answers,
            isSQL(query) ? copyButton("Copy gold SQL", query.answers[0]) : null,
          )
        : []),
      ...(gold.length ? section(gold.length > 1 ? "Gold tables" : "Gold table", ...gold) : []),
    );
  }

  /* Tables that one run alone shows, of those that are looked at: without gold tables, what to look at. */
  function aloneIn(query, runs, run) {
    if (overview.labelled || runs.length < 2) return new Set();
    const others = new Set(runs.filter((other) => other !== run).flatMap((other) => query.runs[other].tables));
    return new Set(query.runs[run].tables.filter((number) => !others.has(number)));
  }

  async function column(query, words, i, run, alone) {
    const shownRun = overview.runs[run];
    const own = query.runs[run];
    const outcome = filters.badges(run, i).map(([text, kind]) => el("span", { class: `badge ${kind}`, text }));
    return el(
      "section",
      { class: "column", "aria-label": `Run ${shownRun.label}`, "data-run": run },
      el("h4", {}, el("span", { class: `key s${shownRun.series}`, "aria-hidden": "true" }), el("span", { class: "data", text: shownRun.label })),
      el("p", { class: "line" }, ...outcome),
      ...answer(own),
      ...judged(own),
      ...(await ranking(query, words, own, shownRun.ranked ? "Retrieved" : "Given", alone)),
    );
  }

  function took(seconds) {
    const ms = 1000 * seconds;
    return ms < 1000 ? `${ms.toFixed(ms < 10 ? 2 : 0)} ms` : `${seconds.toPrecision(3)} s`;
  }

  function answer(run) {
    if (!run.answer) return [];
    const { text, error } = run.answer;
    const facts = [];
    if (run.answer.input_tokens !== undefined) facts.push(`${page.count(run.answer.input_tokens)} tokens in`);
    if (run.answer.output_tokens !== undefined) facts.push(`${page.count(run.answer.output_tokens)} out`);
    if (run.answer.seconds !== undefined) facts.push(took(run.answer.seconds));
    if (run.answer.cost !== undefined) facts.push(`cost ${run.answer.cost.toPrecision(3)}`);
    if (run.answer.finish_reason) facts.push(`ended: ${run.answer.finish_reason}`);
    if (run.answer.truncated) facts.push("from tables cut short");
    if (run.answer.cached) facts.push("recorded before");
    return section(
      "Answer",
      error !== undefined
        ? el("p", { class: "note data" }, "failed: ", ...shown.nodes(error))
        : shown.plain(text) ? paragraph(text) : el("p", { class: "soft", text: "(empty)" }),
      facts.length ? el("p", { class: "small soft data", text: facts.join(" · ") }) : null,
    );
  }

  function listed(entries) {
    return el("dl", { class: "facts" }, ...entries.filter(([, value]) => value !== null).flatMap(([name, value]) => [
      el("dt", { class: "data", text: name }),
      el("dd", { class: "data", dir: "auto" }, ...shown.nodes(worded(value))),
    ]));
  }

  /* A recorded value as text: lists with commas, entries of an object as name and value. */
  function worded(value) {
    if (value === null || typeof value !== "object") return String(value);
    const parts = Array.isArray(value) ? value : Object.entries(value).map(([name, part]) => `${name} ${worded(part)}`);
    return parts.length ? parts.map(worded).join(", ") : "none";
  }

  function judged(run) {
    const record = run.judged;
    if (!record) return [];
    if (record.sql === undefined) return section("Judgement", listed(Object.entries(record)));
    const rows = (n) => (n === null || n === undefined ? "none" : page.plural(n, "row"));
    return [
      ...section("Judged SQL", record.sql === null ? el("p", { class: "soft", text: "no SQL was read from the answer" }) : block(record.sql)),
      record.sql === null ? null : copyButton("Copy SQL", record.sql),
      ...section(
        "Results",
        listed([
          ["verdict", record.verdict.replaceAll("_", " ")],
          ["reason", record.reason || null],
          ["predicted", rows(record.rows)],
          ["gold", rows(record.gold_rows)],
        ]),
        ...results(record),
      ),
    ];
  }

  /* What the prediction and the gold gave, beside each other: the beginnings that the run recorded. */
  function results(record) {
    const both = [["Result of the prediction", record.result, record.rows], ["Result of the gold SQL", record.gold_result, record.gold_rows]];
    return [el("div", { class: "results" }, ...both.map(([title, result, n]) => side(title, result, n)))];
  }
  function side(title, result, n) {
    if (result === null) return el("div", {}, el("p", { class: "small", text: title }), el("p", { class: "empty", text: "none" }));
    const left = [];
    if (result.rows.length < n) left.push(`the first ${page.count(result.rows.length)} of ${page.plural(n, "row")}`);
    if (result.columns.length < result.n_columns) left.push(`the first ${result.columns.length} of ${page.plural(result.n_columns, "column")}`);
    return el(
      "div",
      {},
      el("p", { class: "small" }, title, left.length ? el("span", { class: "cut", text: `shown: ${left.join(", ")}` }) : null),
      tables.grid({ header: result.columns, rows: result.rows }, title.toLowerCase()),
    );
  }

  async function ranking(query, words, run, kind, alone) {
    if (run.error !== undefined) {
      return section("Retrieved tables", el("p", { class: "note data" }, "failed: ", ...shown.nodes(run.error)));
    }
    if (run.n === 0 && kind === "Given") return [];
    if (run.n === 0) return section("Retrieved tables", el("p", { class: "empty", text: "No table was retrieved." }));
    const gold = new Set(query.gold);
    const entries = await Promise.all(
      run.tables.map((number, place) =>
        tables.entry(number, overview.columns, words, {
          rank: kind === "Given" ? undefined : place + 1,
          score: run.scores[place] ?? null,
          gold: gold.has(number),
          alone: alone.has(number),
          open: place === 0,
        }),
      ),
    );
    const more = run.n - run.tables.length;
    const left = more > 0 ? el("p", { class: "small soft", text: `${page.plural(more, "table")} further down not shown` }) : null;
    return section(`${kind} tables (${page.count(run.n)})`, ...entries, left);
  }

  function bar(query, [place, n], go) {
    const step = (label, by, text) =>
      el("button", { type: "button", id: label, text, disabled: place < 0 || place + by < 0 || place + by >= n, onclick: () => go(by) });
    return el(
      "div",
      { class: "detail-bar" },
      el("button", { type: "button", id: "to-list", text: "‹ List", onclick: () => go(0) }),
      el("span", { class: "where small soft", text: place < 0 ? "not in the list" : `${page.count(place + 1)} of ${page.count(n)}` }),
      step("previous", -1, "Previous"),
      step("next", 1, "Next"),
    );
  }

  /* The nodes of a query; `go(step)` moves to a neighbour, `go(0)` back to the list. */
  async function nodes(i, runs, place, go) {
    const query = await data.query(i);
    const words = marks.words(shown.plain(query.text));
    const columns = (
      await Promise.all([reference(query, words), ...runs.map((run) => column(query, words, i, run, aloneIn(query, runs, run)))])
    ).filter((node) => node !== null);
    return [
      bar(query, place, go),
      el("h3", { class: "data", dir: "auto" }, ...shown.nodes(query.text || "(no text)")),
      facts(query),
      el("p", { class: "line" }, copyButton("Copy question", query.text)),
      el("div", { class: runs.length > 1 && columns.length > runs.length ? "columns three" : "columns" }, ...columns),
    ];
  }

  return { setUp, nodes };
})();
