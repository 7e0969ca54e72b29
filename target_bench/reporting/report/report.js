/* Unpacks the data, ties filters, list and query together. The open query stands in the address: #query-17. */
(async () => {
  const control = filters.control;
  let last = null, open = null;

  async function unpack() {
    const binary = atob(control("data").textContent);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function refresh() {
    last = filters.apply();
    list.show(last);
    if (open !== null) show(open, false);
  }

  function show(i, focus = true) {
    open = i;
    list.reading(i);
    control("panes").classList.add("reading");
    control("detail").replaceChildren(...detail.makeNodes(i, last.runs, list.position(), go));
    if (!focus) return;
    control("detail").focus({ preventScroll: true });
    const top = control("detail").getBoundingClientRect().top;
    if (top < 0 || top > innerHeight / 2) control("panes").scrollIntoView(); // it begins out of sight
  }

  function go(step) {
    if (step === 0) return close();
    const next = list.neighbour(step);
    if (next !== null) choose(next);
  }

  function choose(i) {
    history.replaceState(null, "", `#query-${i + 1}`);
    show(i);
  }

  function close() {
    control("panes").classList.remove("reading");
    list.focus();
  }

  function fromAddress() {
    const number = Number(/^#query-(\d+)$/.exec(location.hash)?.[1]);
    if (number >= 1 && number <= data.queries.length) show(number - 1);
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && open !== null) return close();
    if (event.target.closest("input, select, textarea, .table-scroll, pre")) return;
    const does = {
      j: () => go(1), ArrowRight: () => go(1),
      k: () => go(-1), ArrowLeft: () => go(-1),
      "/": () => control("search").focus(),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  try {
    data = await unpack();
    filters.setUp();
    list.setUp(choose);
  } catch (error) {
    control("found").textContent = `The data of this file cannot be read: ${error.message}`;
    return;
  }
  let waiting;
  control("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 120);
  });
  const changed = () => {
    filters.fillOthers();
    refresh();
  };
  control("filters").addEventListener("change", (event) => {
    if (event.target.id !== "search") changed();
  });
  control("filters").addEventListener("submit", (event) => event.preventDefault());
  control("filters").addEventListener("reset", () => setTimeout(() => {
    control("measure").replaceChildren(); // its first choice is not what a report opens with
    changed();
  }));
  control("browser").addEventListener("keydown", onKey);
  addEventListener("hashchange", fromAddress);
  refresh();
  fromAddress();
  control("browser").dataset.ready = "true";
})();
