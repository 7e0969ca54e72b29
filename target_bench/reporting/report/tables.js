/* Tables of the corpus as tables of the page, built when they are opened. */
const tables = (() => {
  const { el } = page;

  function cell(value, words) {
    if (value === null) return el("td", { class: "null", text: "NULL" });
    return el("td", { dir: "auto" }, ...marks.nodes(value, words));
  }

  function grid(table, label, words = new Set()) {
    const head = table.header.map((name) => el("th", { scope: "col", dir: "auto" }, ...marks.nodes(name, words)));
    const rows = table.rows.map((row) => el("tr", {}, ...row.map((value) => cell(value, words))));
    return el(
      "div",
      { class: "table-scroll", tabindex: "0", role: "region", "aria-label": `Content of ${label}` },
      el("table", { class: "cells" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
    );
  }

  const named = (table) =>
    [table.id[0] === "0" ? "" : `${table.id[0]} / `, table.id[1]].join("");

  function content(table, columns, words) {
    const size = [page.plural(table.n_rows, "row"), page.plural(table.n_columns, "column")].join(", ");
    const left = [];
    if (table.rows.length < table.n_rows) left.push(`the first ${page.count(table.rows.length)} rows`);
    if (table.header.length < table.n_columns) left.push(`the first ${page.count(columns)} columns`);
    return [
      el("p", { class: "small soft" }, size, left.length ? el("span", { class: "cut", text: `shown: ${left.join(", ")}` }) : ""),
      table.n_columns === 0 ? el("p", { class: "empty", text: "The table is empty." }) : grid(table, named(table), words),
    ];
  }

  /* A table that opens and closes, with words of the question marked. `rank` null: it stands in no ranking. */
  async function entry(number, columns, words, { rank = null, score = null, gold = false, alone = false, open = false }) {
    const table = await data.table(number);
    const title = shown.plain(table.title);
    const inside = el("div", { class: "inside" });
    const summary = el(
      "summary",
      {},
      rank === null ? null : el("span", { class: "rank" }, el("span", { class: "sr-only", text: "rank " }), String(rank)),
      el(
        "span",
        { class: "title" },
        title ? el("span", { class: "data", dir: "auto" }, ...marks.nodes(table.title, words), " ") : null,
        el("span", { class: "mono small soft data", text: named(table) }),
      ),
      gold ? el("span", { class: "badge good", text: "gold" }) : null,
      alone ? el("span", { class: "badge warn", text: "only here" }) : null,
      score === null ? null : el("span", { class: "score", title: "score of the retriever", text: number4(score) }),
    );
    const fill = () => {
      if (!inside.hasChildNodes()) inside.append(...content(table, columns, words));
    };
    const details = el("details", { class: gold ? "table gold" : "table", ontoggle: fill }, summary, inside);
    if (open) {
      fill();
      details.open = true;
    }
    return details;
  }

  function number4(x) {
    const magnitude = Math.abs(x);
    if (magnitude !== 0 && (magnitude < 1e-3 || magnitude >= 1e6)) return x.toExponential(2).replace("-", "−");
    const text = Number.isInteger(x) || magnitude >= 1e4 ? String(Math.round(x)) : x.toPrecision(4);
    return text.replace("-", "−");
  }

  return { entry, grid, named };
})();
