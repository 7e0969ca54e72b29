/* The data of the report: blocks of compressed JSON, unpacked when they are asked for. */
const data = (() => {
  const KEPT = 48; // blocks of queries and tables that stay unpacked
  const unpacked = new Map();

  async function unpack(name) {
    const element = document.getElementById(`block-${name}`);
    if (!element) throw new Error(`the file lacks its block ${name}`);
    const binary = atob(element.textContent);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  /* The value of a block; the least recently used ones are forgotten. */
  function get(name) {
    const value = unpacked.get(name) ?? unpack(name);
    unpacked.delete(name);
    unpacked.set(name, value);
    if (unpacked.size > KEPT) unpacked.delete(unpacked.keys().next().value);
    return value;
  }

  const overview = unpack("overview");
  async function entry(kind, number) {
    const size = (await overview).per_block[kind];
    const block = await get(`${kind}-${Math.floor(number / size)}`);
    return block[number % size];
  }

  /* Values of a metric of a run, a number or null a query; kept, for they are filtered by. */
  const values = new Map();
  async function metric(run, name) {
    const key = `values-${run}-${(await overview).runs[run].metrics.indexOf(name)}`;
    if (!values.has(key)) values.set(key, unpack(key));
    return values.get(key);
  }

  return {
    overview,
    index: unpack("index"),
    metric,
    query: (number) => entry("queries", number),
    table: (number) => entry("tables", number),
  };
})();

/* Text that may have been cut: [beginning, characters left out] -> nodes, the cut marked. */
const shown = {
  plain: (value) => (Array.isArray(value) ? value[0] : value),
  nodes(value) {
    if (!Array.isArray(value)) return [value];
    const mark = page.el("span", { class: "cut", text: `… ${page.plural(value[1], "character")} cut` });
    return [value[0], mark];
  },
};
