/* The table as text of another format. */
const copying = (() => {
  const LATEX = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "#": "\\#", _: "\\_", "%": "\\%",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "[": "{[}", "*": "{*}", // which after the end of a row would be read as its options
    "≈": "$\\approx$", "▲": "$\\uparrow$", "▼": "$\\downarrow$", "†": "$\\dagger$", "–": "--", "−": "$-$",
  };
  const tex = (text) => text.replace(/[\\{}$&#_%~^<>[*≈▲▼†–−]/g, (c) => LATEX[c]).replace(/\s+/g, " ").trim();

  function asTable({ header, body, best }) {
    const line = (tag, cells, bold = []) => page.el("tr", {}, ...cells.map((text, i) => page.el(tag, { text, class: bold[i] ? "best" : null })));
    return page.el("table", {}, page.el("tbody", {}, line("th", header), ...body.map((cells, i) => line("td", cells, best[i]))));
  }
  const markdown = (found) => page.asMarkdown(asTable(found));
  const csv = (found) => page.asCSV(asTable({ ...found, best: [] }));
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
