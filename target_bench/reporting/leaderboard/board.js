/* Which rows and columns of the table of scores are shown, and the card that an address names. */
document.addEventListener("DOMContentLoaded", () => {
  const control = (id) => document.getElementById(id);
  const value = (id) => control(id)?.value ?? "";
  const table = control("scores");

  function showColumns() {
    for (const cell of document.querySelectorAll("[data-column]")) {
      const { k, of, kind } = cell.dataset;
      cell.hidden = (k !== "" && value("k") !== "" && k !== value("k")) || (value("of") !== "" && of !== value("of")) || (kind === "time" && !control("times").checked);
    }
  }
  function showRows() {
    const words = value("search").toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) {
      const { words: text, kind, weights, training, source } = row.dataset;
      const fits = (id, its) => value(id) === "" || value(id) === its;
      const scored = value("of") === "" || row.querySelector("td[data-column]:not([hidden])[data-text]") !== null;
      row.hidden = !(scored && words.every((word) => text.includes(word)) && fits("kind", kind) && fits("weights", weights) && fits("training", training) && fits("source", source));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    control("found").textContent = shown === rows.length ? page.plural(rows.length, "system") : `${page.count(shown)} of ${page.plural(rows.length, "system")}`;
    control("nothing").hidden = shown > 0;
    control("region").hidden = shown === 0;
  }
  function openCard() {
    const card = location.hash.startsWith("#entry-") && control(location.hash.slice(1));
    if (!card) return;
    card.open = true;
    card.scrollIntoView();
  }
  function refresh() {
    showColumns();
    showRows();
  }

  if (table) {
    control("filters").addEventListener("input", refresh);
    control("filters").addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", openCard);
    refresh();
    openCard();
  }
  document.documentElement.dataset.ready = "true";
});
