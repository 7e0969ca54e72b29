/* The table as text of another format. */
const copying = (() => {
  const LATEX = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "#": "\\#", _: "\\_", "%": "\\%",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "≈": "$\\approx$", "▲": "$\\uparrow$", "▼": "$\\downarrow$", "†": "$\\dagger$", "–": "--", "−": "$-$",
  };
  const tex = (text) => text.replace(/[\\{}$&#_%~^<>≈▲▼†–−]/g, (c) => LATEX[c]).replace(/\s+/g, " ");

  function asTable({ header, body }) {
    const line = (tag, cells) => page.el("tr", {}, ...cells.map((text) => page.el(tag, { text })));
    return page.el("table", {}, page.el("tbody", {}, line("th", header), ...body.map((cells) => line("td", cells))));
  }
  /* Spreadsheets take a cell that begins so for a formula. */
  const harmless = (text) => (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);

  function markdown(found) {
    return page.asMarkdown(asTable({ header: found.header, body: found.body.map((cells, i) => cells.map((t, j) => (found.best[i][j] ? `**${t}**` : t))) }));
  }
  function csv(found) {
    return page.asCSV(asTable({ header: found.header.map(harmless), body: found.body.map((cells) => cells.map(harmless)) }));
  }
  function latex(found) {
    const line = (cells) => `${cells.join(" & ")} \\\\`;
    return [
      "% needs \\usepackage{booktabs}",
      `\\begin{tabular}{${found.numeric.map((right) => (right ? "r" : "l")).join("")}}`,
      "\\toprule",
      line(found.header.map(tex)),
      "\\midrule",
      ...found.body.map((cells, i) => line(cells.map((t, j) => (found.best[i][j] ? `\\textbf{${tex(t)}}` : tex(t))))),
      "\\bottomrule",
      "\\end{tabular}",
      "",
    ].join("\n");
  }
  return { markdown, csv, latex };
})();
