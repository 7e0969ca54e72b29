/* Which rows and columns of the table of scores are shown, and the card that an address names. */
document.addEventListener("DOMContentLoaded", () => {
  const control = (id) => document.getElementById(id);
  const value = (id) => control(id)?.value ?? "";
  const table = control("scores");

  function refresh() {
    for (const cell of document.querySelectorAll("[data-column]")) {
      const { k, of } = cell.dataset;
      const other = (id, its) => value(id) !== "" && value(id) !== its;
      cell.hidden = (k !== "" && other("k", k)) || other("of", of);
    }
    const words = value("search").toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) {
      const scored = value("of") === "" || row.querySelector("td[data-column]:not([hidden])[data-text]") !== null;
      row.hidden = !scored || !words.every((word) => row.dataset.words.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    control("shown").textContent = shown === rows.length ? page.plural(rows.length, "system") : `${page.count(shown)} of ${page.plural(rows.length, "system")}`;
    control("nothing").hidden = shown > 0;
    control("region").hidden = shown === 0;
  }
  function openCard() {
    const card = location.hash.startsWith("#entry-") && control(location.hash.slice(1));
    if (!card) return;
    card.open = true;
    card.scrollIntoView();
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
