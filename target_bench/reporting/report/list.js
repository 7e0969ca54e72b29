/* The list of queries, a page at a time, and the comparison of runs above it. */
const list = (() => {
  const PER_PAGE = 50;
  const control = filters.control;
  let queries = [], runs = [], at = 0, open = null, choose;

  function setUp(onChoose) {
    choose = onChoose;
    const turns = { "page-first": () => 0, "page-back": () => at - 1, "page-on": () => at + 1, "page-last": () => nPages() - 1 };
    for (const [id, where] of Object.entries(turns)) control(id).addEventListener("click", () => turn(where()));
  }

  const nPages = () => Math.max(1, Math.ceil(queries.length / PER_PAGE));
  const isOn = (position) => position >= 0 && Math.floor(position / PER_PAGE) === at;

  function show(result) {
    ({ queries, runs } = result);
    const all = page.plural(data.queries.length, "query", "queries");
    control("found").textContent = queries.length === data.queries.length ? all : `${page.count(queries.length)} of ${all}`;
    control("nothing").hidden = queries.length > 0;
    showDuel(result.wins);
    turn(Math.max(0, Math.floor(queries.indexOf(open) / PER_PAGE)));
  }

  function showDuel(wins) {
    control("duel").hidden = runs.length === 1 || !filters.isMeasured(runs);
    const button = (value, name, n) => {
      const isPressed = control("show").value === value;
      const onclick = () => {
        control("show").value = isPressed ? "" : value;
        control("filters").dispatchEvent(new Event("change"));
      };
      const props = { type: "button", "data-show": value, "aria-pressed": String(isPressed), onclick };
      return page.el("button", props, page.el("span", { class: "data", text: name }), page.el("b", { text: page.count(n) }));
    };
    const word = runs.length > 2 ? "best" : "better";
    const listed = document.getElementById("listed") ? ", of the queries listed" : ""; // not of all
    control("duel").replaceChildren(
      ...runs.map((run) => button(`won:${run}`, `${data.runs[run].label} ${word}`, wins.get(run))),
      button("won:none", filters.noWinner(runs), wins.get(null)),
      page.el("span", { class: "soft small", text: `by ${control("measure").value}${listed}` }),
    );
  }

  function turn(number) {
    at = Math.min(Math.max(number, 0), nPages() - 1);
    const first = at * PER_PAGE;
    control("list").replaceChildren(...queries.slice(first, first + PER_PAGE).map(makeItem));
    control("list").setAttribute("start", String(first + 1));
    control("list").scrollTop = 0;
    control("pages").hidden = nPages() === 1;
    control("page-now").textContent = `page ${page.count(at + 1)} of ${page.count(nPages())}`;
    control("page-first").disabled = control("page-back").disabled = at === 0;
    control("page-on").disabled = control("page-last").disabled = at === nPages() - 1;
    mark();
  }

  function makeItem(i) {
    const { text, id } = data.queries[i];
    const marks = runs.filter((run) => filters.badges(run, i).length).map((run) => {
      const { label, series } = data.runs[run];
      const key = [page.el("span", { class: `key s${series}`, title: label }), page.el("span", { class: "sr-only", text: `${label}: ` })];
      const badges = filters.badges(run, i).map(([text, kind]) => page.el("span", { class: `badge ${kind}`, text }));
      return page.el("span", { class: "of-run" }, ...(runs.length > 1 ? key : []), ...badges);
    });
    if (!data.labelled && data.common.length) {
      marks.push(page.el("span", { class: "badge", text: `${Math.round(100 * data.common[i])}% in common` }));
    }
    return page.el("li", {}, page.el(
      "button",
      { type: "button", "data-query": i, onclick: () => choose(i) },
      page.el("span", { class: "question data", dir: "auto", text: shown.plain(text) || "(no text)" }),
      page.el("span", { class: "marks" }, ...marks, page.el("span", { class: "id data", text: id })),
    ));
  }

  function mark() {
    for (const button of control("list").querySelectorAll("button")) {
      if (Number(button.dataset.query) === open) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  /* Note which query is open, turn to its page, bring it into view. */
  function reading(i) {
    open = i;
    const position = queries.indexOf(i);
    if (position >= 0 && !isOn(position)) turn(Math.floor(position / PER_PAGE));
    else mark();
    const button = control("list").querySelector("[aria-current]");
    if (!button) return;
    const inside = button.getBoundingClientRect(), box = control("list").getBoundingClientRect();
    if (inside.top < box.top || inside.bottom > box.bottom) control("list").scrollTop += inside.top - box.top - box.height / 3;
  }

  /* The query before (-1) or after (1) the open one, or null. */
  function neighbour(step) {
    const position = queries.indexOf(open);
    return queries[position < 0 ? (step > 0 ? 0 : -1) : position + step] ?? null;
  }

  function focus() {
    (control("list").querySelector("[aria-current]") ?? control("list").querySelector("button"))?.focus();
  }

  return { setUp, show, reading, neighbour, focus, position: () => [queries.indexOf(open), queries.length] };
})();
