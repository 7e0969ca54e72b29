/* One query in full: question, reference, gold tables, and a column for each run that is looked at. */
const detail = (() => {
  const { el } = page;
  const section = (title, ...nodes) => [el("h5", { text: title }), ...nodes];
  const block = (value) => el("pre", { class: "data", dir: "auto", tabindex: "0" }, ...shown.nodes(value));
  const paragraph = (value) => el("p", { class: "answer", dir: "auto" }, ...shown.nodes(value));
  const empty = (text) => el("p", { class: "empty", text });
  const failed = (error) => el("p", { class: "note data" }, "failed: ", ...shown.nodes(error));
  const copyButton = (label, value) =>
    el("button", { type: "button", text: label, onclick: (event) => page.copy(shown.plain(value), event.currentTarget) });

  /* Pairs of name and value, those without one left out. */
  const facts = (entries) => el("dl", { class: "facts" }, ...entries.filter(([, value]) => value !== null).flatMap(([name, value]) => [
    el("dt", { class: "data", text: name }),
    el("dd", { class: "data", dir: "auto" }, ...shown.nodes(value)),
  ]));

  function makeReference(query, words) {
    const isSQL = query.runs.some((run) => run.judged?.sql !== undefined);
    const { answers } = query;
    const gold = query.gold.map((number) => tables.makeEntry(number, words, { gold: true, open: true }));
    if (!answers.length && !gold.length) return null;
    const title = answers.length > 1 ? "Accepted answers" : isSQL ? "Gold SQL" : "Answer";
    const copy = isSQL ? copyButton("Copy gold SQL", answers[0]) : null;
    return el(
      "section",
      { class: "column", "aria-label": "Reference" },
      el("h4", { text: "Reference" }),
      ...(answers.length ? section(title, ...answers.map(isSQL ? block : paragraph), copy) : []),
      ...(gold.length ? section(gold.length > 1 ? "Gold tables" : "Gold table", ...gold) : []),
    );
  }

  /* Tables that one run alone shows, of those that are looked at: without gold tables, what to look at. */
  function aloneIn(query, runs, run) {
    if (data.labelled || runs.length < 2) return new Set();
    const others = new Set(runs.filter((other) => other !== run).flatMap((other) => query.runs[other].tables));
    return new Set(query.runs[run].tables.filter((number) => !others.has(number)));
  }

  function makeColumn(query, words, i, run, alone) {
    const { label, series, ranked } = data.runs[run];
    const own = query.runs[run];
    const outcome = filters.badges(run, i).map(([text, kind]) => el("span", { class: `badge ${kind}`, text }));
    return el(
      "section",
      { class: "column", "aria-label": `Run ${label}`, "data-run": run },
      el("h4", {}, el("span", { class: `key s${series}`, "aria-hidden": "true" }), el("span", { class: "data", text: label })),
      el("p", { class: "line" }, ...outcome),
      ...makeAnswer(own.answer),
      ...makeJudgement(own.judged),
      ...makeRanking(query, words, own, ranked ? "Retrieved" : "Given", alone),
    );
  }

  function duration(seconds) {
    const ms = 1000 * seconds;
    return ms < 1000 ? `${ms.toFixed(ms < 10 ? 2 : 0)} ms` : `${seconds.toPrecision(3)} s`;
  }

  function makeAnswer(answer) {
    if (!answer) return [];
    const { text, error, input_tokens, output_tokens, seconds, cost, finish_reason, truncated, cached } = answer;
    const parts = [
      input_tokens !== undefined && `${page.count(input_tokens)} tokens in`,
      output_tokens !== undefined && `${page.count(output_tokens)} out`,
      seconds !== undefined && duration(seconds),
      cost !== undefined && `cost ${cost.toPrecision(3)}`,
      finish_reason && `ended: ${finish_reason}`,
      truncated && "from tables cut short",
      cached && "recorded before",
    ].filter(Boolean);
    const content = shown.plain(text) ? paragraph(text) : el("p", { class: "soft", text: "(empty)" });
    const line = parts.length ? el("p", { class: "small soft data", text: parts.join(" · ") }) : null;
    return section("Answer", error === undefined ? content : failed(error), line);
  }

  /* A recorded value as text: lists with commas, entries of an object as name and value. */
  function worded(value) {
    if (value === null || typeof value !== "object") return String(value);
    const parts = Array.isArray(value) ? value : Object.entries(value).map(([name, part]) => `${name} ${worded(part)}`);
    return parts.length ? parts.map(worded).join(", ") : "none";
  }

  function makeJudgement(record) {
    if (!record) return [];
    if (record.sql === undefined) {
      return section("Judgement", facts(Object.entries(record).map(([name, value]) => [name, value === null ? null : worded(value)])));
    }
    const rows = (n) => (n === null || n === undefined ? "none" : page.plural(n, "row"));
    const sides = [["Result of the prediction", record.result, record.rows], ["Result of the gold SQL", record.gold_result, record.gold_rows]];
    return [
      ...section("Judged SQL", record.sql === null ? el("p", { class: "soft", text: "no SQL was read from the answer" }) : block(record.sql)),
      record.sql === null ? null : copyButton("Copy SQL", record.sql),
      ...section(
        "Results",
        facts([
          ["verdict", record.verdict.replaceAll("_", " ")],
          ["reason", record.reason || null],
          ["predicted", rows(record.rows)],
          ["gold", rows(record.gold_rows)],
        ]),
        el("div", { class: "results" }, ...sides.map(([title, result, n]) => makeResult(title, result, n))),
      ),
    ];
  }

  function makeResult(title, result, n) {
    if (result === null) return el("div", {}, el("p", { class: "small", text: title }), empty("none"));
    const left = [];
    if (result.rows.length < n) left.push(`the first ${page.count(result.rows.length)} of ${page.plural(n, "row")}`);
    if (result.columns.length < result.n_columns) left.push(`the first ${result.columns.length} of ${page.plural(result.n_columns, "column")}`);
    const cut = left.length ? el("span", { class: "cut", text: `shown: ${left.join(", ")}` }) : null;
    return el("div", {}, el("p", { class: "small" }, title, cut), tables.makeGrid(result.columns, result.rows, title.toLowerCase()));
  }

  function makeRanking(query, words, run, kind, alone) {
    if (run.error !== undefined) return section("Retrieved tables", failed(run.error));
    if (run.n === 0) return kind === "Given" ? [] : section("Retrieved tables", empty("No table was retrieved."));
    const entries = run.tables.map((number, i) =>
      tables.makeEntry(number, words, {
        rank: kind === "Given" ? null : i + 1,
        score: run.scores[i] ?? null,
        gold: query.gold.includes(number),
        alone: alone.has(number),
        open: i === 0,
      }),
    );
    const more = run.n - run.tables.length;
    const left = more > 0 ? el("p", { class: "small soft", text: `${page.plural(more, "table")} further down not shown` }) : null;
    return section(`${kind} tables (${page.count(run.n)})`, ...entries, left);
  }

  function makeBar([position, n], go) {
    const step = (id, by, text) => {
      const disabled = position < 0 || position + by < 0 || position + by >= n;
      return el("button", { type: "button", id, text, disabled, onclick: () => go(by) });
    };
    return el(
      "div",
      { class: "detail-bar" },
      el("button", { type: "button", id: "to-list", text: "‹ List", onclick: () => go(0) }),
      el("span", { class: "where small soft", text: position < 0 ? "not in the list" : `${page.count(position + 1)} of ${page.count(n)}` }),
      step("previous", -1, "Previous"),
      step("next", 1, "Next"),
    );
  }

  /* The nodes of a query; `go(step)` moves to a neighbour, `go(0)` back to the list. */
  function makeNodes(i, runs, position, go) {
    const query = data.queries[i];
    const words = marks.words(shown.plain(query.text));
    const columns = [
      makeReference(query, words),
      ...runs.map((run) => makeColumn(query, words, i, run, aloneIn(query, runs, run))),
    ].filter((node) => node !== null);
    return [
      makeBar(position, go),
      el("h3", { class: "data", dir: "auto" }, ...shown.nodes(query.text || "(no text)")),
      facts([["id", query.id], ...Object.entries(query.facts)]),
      el("p", { class: "line" }, copyButton("Copy question", query.text)),
      el("div", { class: runs.length > 1 && columns.length > runs.length ? "columns three" : "columns" }, ...columns),
    ];
  }

  return { makeNodes };
})();
