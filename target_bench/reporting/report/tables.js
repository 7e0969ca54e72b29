/* The data of the report, which report.js unpacks; and its tables, built when they are opened. */
let data;

/* Text that may have been cut: [beginning, characters left out] -> nodes, the cut marked. */
const shown = {
  plain: (value) => (Array.isArray(value) ? value[0] : value),
  nodes(value) {
    if (!Array.isArray(value)) return [value];
    return [value[0], page.el("span", { class: "cut", text: `… ${page.plural(value[1], "character")} cut` })];
  },
};

/* The words of a question, marked where they occur in a table: case, accents and a plural s do not count. */
const marks = (() => {
  const segmenter = Intl.Segmenter && new Intl.Segmenter(undefined, { granularity: "word" });
  const isWord = (text) => /[\p{L}\p{N}]/u.test(text);
  let stopWords;

  function parts(text) {
    if (!segmenter) return text.split(/([\p{L}\p{N}]+)/u);
    return Array.from(segmenter.segment(text), ({ segment }) => segment);
  }
  function key(word) {
    const plain = word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    return plain.length > 3 ? plain.replace(/(?<!s)s$/, "") : plain;
  }
  /* The words of a text that are worth a mark: no stop words, no single letters of an alphabet. */
  function words(text) {
    stopWords ??= new Set(data.stop_words.map(key));
    const keys = parts(text).filter(isWord).map(key);
    return new Set(keys.filter((word) => !stopWords.has(word) && !/^[a-z]$/.test(word)));
  }
  /* A text that may have been cut -> nodes, those words in <mark>. */
  function nodes(value, marked) {
    const [text, ...cut] = shown.nodes(value);
    const out = marked.size ? [] : [text];
    for (const part of marked.size ? parts(text) : []) {
      if (isWord(part) && marked.has(key(part))) out.push(page.el("mark", { text: part }));
      else if (typeof out.at(-1) === "string") out[out.length - 1] += part;
      else out.push(part);
    }
    return [...out, ...cut];
  }
  return { words, nodes };
})();

const tables = (() => {
  const { el } = page;

  function makeGrid(header, rows, label, words = new Set()) {
    const head = header.map((name) => el("th", { scope: "col", dir: "auto" }, ...marks.nodes(name, words)));
    const cell = (value) =>
      value === null ? el("td", { class: "null", text: "NULL" }) : el("td", { dir: "auto" }, ...marks.nodes(value, words));
    return el(
      "div",
      { class: "table-scroll", tabindex: "0", role: "region", "aria-label": `Content of ${label}` },
      el("table", { class: "cells" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell))))),
    );
  }

  const nameOf = ({ id: [database, table] }) => (database === "0" ? table : `${database} / ${table}`);

  function makeContent(table, words) {
    const size = [page.plural(table.n_rows, "row"), page.plural(table.n_columns, "column")].join(", ");
    const left = [];
    if (table.rows.length < table.n_rows) left.push(`the first ${page.count(table.rows.length)} rows`);
    if (table.header.length < table.n_columns) left.push(`the first ${page.count(table.header.length)} columns`);
    return [
      el("p", { class: "small soft" }, size, left.length ? el("span", { class: "cut", text: `shown: ${left.join(", ")}` }) : ""),
      table.n_columns === 0 ? el("p", { class: "empty", text: "The table is empty." }) : makeGrid(table.header, table.rows, nameOf(table), words),
    ];
  }

  /* A table that opens and closes, with words of the question marked. `rank` null: it stands in no ranking. */
  function makeEntry(number, words, { rank = null, score = null, gold = false, alone = false, open = false }) {
    const table = data.tables[number];
    const inside = el("div", { class: "inside" });
    const title = shown.plain(table.title) ? el("span", { class: "data", dir: "auto" }, ...marks.nodes(table.title, words), " ") : null;
    const summary = el(
      "summary",
      {},
      rank === null ? null : el("span", { class: "rank" }, el("span", { class: "sr-only", text: "rank " }), String(rank)),
      el("span", { class: "title" }, title, el("span", { class: "mono small soft data", text: nameOf(table) })),
      gold ? el("span", { class: "badge good", text: "gold" }) : null,
      alone ? el("span", { class: "badge warn", text: "only here" }) : null,
      score === null ? null : el("span", { class: "score", title: "score of the retriever", text: scoreText(score) }),
    );
    const fill = () => {
      if (!inside.hasChildNodes()) inside.append(...makeContent(table, words));
    };
    if (open) fill();
    return el("details", { class: gold ? "table gold" : "table", open, ontoggle: fill }, summary, inside);
  }

  function scoreText(x) {
    const magnitude = Math.abs(x);
    if (magnitude !== 0 && (magnitude < 1e-3 || magnitude >= 1e6)) return x.toExponential(2).replace("-", "−");
    const text = Number.isInteger(x) || magnitude >= 1e4 ? String(Math.round(x)) : x.toPrecision(4);
    return text.replace("-", "−");
  }

  return { makeEntry, makeGrid };
})();
