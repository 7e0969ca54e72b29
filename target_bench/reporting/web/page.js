"use strict";
/* What all our pages do. Data reaches the document as text only: `el` has no way to parse HTML. */
const page = (() => {
  /* An element. `props`: attributes; `class`, `text` and `on<event>` functions too. Children: nodes or text. */
  function el(tag, props = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "class") node.className = value;
      else if (name === "text") node.textContent = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  const whole = new Intl.NumberFormat("en-US");
  const count = (n) => whole.format(n);
  const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

  /* Said to screen readers; the page has one <p id="announcer" class="sr-only" role="status">. */
  function announce(text) {
    const place = document.getElementById("announcer");
    if (place) place.textContent = text;
  }

  /* The theme: the system's until the user chooses. Buttons have `data-theme-switch`. */
  const THEME = "target-bench-theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => document.documentElement.dataset.theme;
  const isDark = () => (chosen() ? chosen() === "dark" : dark.matches);
  function remembered() {
    try {
      return localStorage.getItem(THEME);
    } catch {
      return null; // a browser that keeps nothing for files
    }
  }
  function remember(theme) {
    try {
      localStorage.setItem(THEME, theme);
    } catch {
      /* as above: the choice holds until the page is left */
    }
  }
  function showTheme() {
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.textContent = isDark() ? "Light theme" : "Dark theme";
    }
  }
  function switchTheme() {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remember(theme);
    showTheme();
    announce(`${theme} theme`);
  }
  if (["light", "dark"].includes(remembered())) {
    document.documentElement.dataset.theme = remembered();
  }
  dark.addEventListener("change", showTheme);

  /* Sorting: <table data-sortable>, <th><button class="sort">; a cell sorts by data-value, else by its text. */
  function sortBy(table, th) {
    const column = [...th.parentNode.children].indexOf(th);
    const first = th.dataset.first || "descending";
    const other = first === "descending" ? "ascending" : "descending";
    const order = th.getAttribute("aria-sort") === first ? other : first;
    for (const head of table.tHead.querySelectorAll("th[aria-sort]")) head.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const key = (row) => {
      const cell = row.cells[column];
      const given = cell.dataset.value;
      if (given === "") return null; // not known: last in either order
      const number = given === undefined ? NaN : Number(given);
      return Number.isNaN(number) ? (given ?? cell.textContent.trim().toLowerCase()) : number;
    };
    for (const body of table.tBodies) {
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
      });
      body.append(...rows.map(([, row]) => row));
    }
    announce(`sorted by ${th.textContent.trim()}, ${order}`);
  }
  function sortable(table) {
    for (const button of table.tHead.querySelectorAll("button.sort")) {
      button.addEventListener("click", () => sortBy(table, button.closest("th")));
    }
  }

  /* Copying: true if it worked. A button given shows it for a moment. */
  async function copy(text, button) {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = copyOldWay(text);
    }
    announce(done ? "copied" : "could not copy");
    if (button && !button.dataset.label) {
      button.dataset.label = button.textContent;
      button.textContent = done ? "Copied" : "Could not copy";
      setTimeout(() => {
        button.textContent = button.dataset.label;
        delete button.dataset.label;
      }, 1500);
    }
    return done;
  }
  function copyOldWay(text) {
    const area = el("textarea", { class: "sr-only", "aria-hidden": "true" });
    area.value = text;
    const focused = document.activeElement;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (focused) focused.focus();
    return done;
  }

  /* A table of figures as text. Cells that show more than their value have data-text. */
  const cellText = (cell) => (cell.dataset.text ?? cell.textContent).replace(/\s+/g, " ").trim();
  const cellsOf = (row) => [...row.cells].filter((cell) => !cell.hidden);
  const rowsOf = (table, written = cellText) =>
    [...table.rows].filter((row) => !row.hidden).map((row) => cellsOf(row).map(written));
  /* Spreadsheets take a cell that begins so for a formula. */
  const harmless = (t) => (/^[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(t) && Number.isNaN(Number(t)) ? `'${t}` : t);
  /* Cells of class "best" are bold; what Markdown or HTML would take for markup is escaped. */
  function asMarkdown(table) {
    const escaped = (t) => t.replace(/[\\`*<>|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[([])|&(?=[#\w])/g, "\\$&");
    const written = (cell) => (cell.classList.contains("best") ? `**${escaped(cellText(cell))}**` : escaped(cellText(cell)));
    const [head, ...rows] = rowsOf(table, written);
    const line = (cells) => `| ${cells.join(" | ")} |`;
    return [line(head), line(head.map(() => "---")), ...rows.map(line), ""].join("\n");
  }
  /* Cells with data-low and data-high become three: the value, and its bounds, in full. */
  function asCSV(table) {
    const quoted = (t) => (/[",\r\n]/.test(t) ? `"${t.replace(/"/g, '""')}"` : t);
    const rows = [...table.rows].filter((row) => !row.hidden).map(cellsOf);
    const bounded = rows[0].map((_, i) => rows.some((row) => row[i].dataset.low !== undefined));
    const parts = (cell, i, row) => {
      if (!bounded[i]) return [cellText(cell)];
      if (row === 0) return ["", " low", " high"].map((part) => cellText(cell) + part);
      return [cell.dataset.value, cell.dataset.low, cell.dataset.high].map((x) => x ?? "");
    };
    return rows.map((row, n) => row.flatMap((cell, i) => parts(cell, i, n)).map(harmless).map(quoted).join(",") + "\r\n").join("");
  }

  /* A table that is wider than its place says so, until its last column is in sight. */
  function hintAt(place) {
    const hint = el("p", { class: "hint small soft", "aria-hidden": "true", text: "more columns →", hidden: true });
    place.before(hint);
    const look = () => {
      const more = place.scrollWidth - place.clientWidth - place.scrollLeft > 8;
      hint.hidden = place.scrollWidth <= place.clientWidth;
      hint.classList.toggle("end", !more);
      place.classList.toggle("more", more);
    };
    place.addEventListener("scroll", look, { passive: true });
    const sizes = new ResizeObserver(look);
    for (const node of [place, ...place.children]) sizes.observe(node);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".scroll").forEach(hintAt);
    showTheme();
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.addEventListener("click", switchTheme);
    }
    document.querySelectorAll("table[data-sortable]").forEach(sortable);
    for (const button of document.querySelectorAll("button[data-copy-table]")) {
      const written = { markdown: asMarkdown, csv: asCSV }[button.dataset.copyAs];
      const table = document.getElementById(button.dataset.copyTable);
      button.addEventListener("click", () => copy(written(table), button));
    }
  });

  return { el, count, plural, announce, sortable, copy, asMarkdown, asCSV, rowsOf };
})();
