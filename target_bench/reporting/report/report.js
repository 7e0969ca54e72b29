/* What ties filters, list and query together. The open query stands in the address: #query-17. */
(async () => {
  const control = filters.control;
  let overview, last = null, open = null, asked = 0;

  async function refresh() {
    const mine = ++asked;
    const result = await filters.apply();
    if (mine !== asked) return; // the filters changed since
    last = result;
    list.show(result);
    if (open !== null) show(open, false);
  }

  async function show(i, focus = true) {
    open = i;
    list.reading(i);
    const nodes = await detail.nodes(i, last.runs, list.place(), go);
    if (open !== i) return; // another was opened since
    control("panes").classList.add("reading");
    control("detail").replaceChildren(...nodes);
    if (focus) {
      control("detail").focus({ preventScroll: true });
      bringUp();
    }
  }

  /* Where the query begins above or far below what is seen, scroll to it. */
  function bringUp() {
    const top = control("detail").getBoundingClientRect().top;
    if (top < 0 || top > innerHeight / 2) control("panes").scrollIntoView();
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
    const match = /^#query-(\d+)$/.exec(location.hash);
    if (match && Number(match[1]) >= 1 && Number(match[1]) <= overview.n) show(Number(match[1]) - 1);
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
    const [about, index] = await Promise.all([data.overview, data.index]);
    overview = about;
    filters.setUp(about, index);
    list.setUp(about, index, choose);
    detail.setUp(about);
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
    return refresh();
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
  await refresh();
  fromAddress();
  control("browser").dataset.ready = "true";
})();
