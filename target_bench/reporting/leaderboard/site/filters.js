/* Which rows are shown. */
const filters = (() => {
  const SIZES = [
    ["none", "none", (n) => n === 0],
    ["small", "under 100M", (n) => n !== null && n > 0 && n < 1e8],
    ["medium", "100M to 1B", (n) => n !== null && n >= 1e8 && n < 1e9],
    ["large", "1B to 10B", (n) => n !== null && n >= 1e9 && n < 1e10],
    ["huge", "10B and more", (n) => n !== null && n >= 1e10],
    ["unknown", "unknown", (n) => n === null],
  ];
  const control = (id) => document.getElementById(id);
  const options = (id, pairs) => control(id).append(...pairs.map(([value, text]) => page.el("option", { value, text })));
  const once = (values) => [...new Set(values)].sort((a, b) => a.localeCompare(b));
  let texts = [];

  function setUp(board) {
    options("k", board.cutoffs.map((k) => [k, k]));
    control("k").value = board.k;
    control("k").closest(".field").hidden = board.cutoffs.length === 0;
    options("group", board.groups.map((group, i) => [i, [group.name, group.queries, group.version].filter(Boolean).join(", ")]));
    options("kind", once(board.rows.map((row) => row.kind)).map((kind) => [kind, kind]));
    options("size", SIZES.filter(([, , fits]) => board.rows.some((row) => fits(row.parameters))));
    const generators = once(board.rows.flatMap((row) => (row.generator === null ? [] : [row.generator])));
    options("generator", generators.map((name) => [name, name]));
    control("field-generator").hidden = generators.length < 2;
    control("field-scores").hidden = board.rows.every((row) => row.page !== null);
    control("field-times").hidden = board.here !== "overview" || board.groups.length < 2 || !board.groups.some((group) => group.columns.some((column) => column.kind === "ms"));
    texts = board.rows.map((row) => [row.name, row.retriever, row.generator ?? "", row.kind, ...row.authors].join("\n").toLowerCase());
  }

  function rows(board, groups) {
    const words = control("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [kind, size, weights, training, generator, scores] = ["kind", "size", "weights", "training", "generator", "scores-by"].map((id) => control(id).value);
    const fits = SIZES.find(([name]) => name === size)?.[2];
    return board.rows.flatMap((row, i) => {
      const said = Object.values(row.trained);
      const shown =
        words.every((word) => texts[i].includes(word)) &&
        (!kind || row.kind === kind) &&
        (!fits || fits(row.parameters)) &&
        (!weights || row.open === (weights === "open")) &&
        (!training || (said.length > 0 && said.every((x) => x === "no"))) &&
        (!scores || (scores === "reported") === (row.page === null)) &&
        (!generator || row.generator === generator) &&
        groups.some((group) => i in group.cells);
      return shown ? [i] : [];
    });
  }
  return { setUp, rows };
})();
