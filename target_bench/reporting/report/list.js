/* The list of queries, a page at a time, and the comparison of runs above it. */
const list = (() => {
  const PER_PAGE = 50;
  const control = filters.control;
  let overview, index, choose;
  let queries = [], runs = [], at = 0, open = null;

  function setUp(givenOverview, givenIndex, onChoose) {
    overview = givenOverview;
    index = givenIndex;
    choose = onChoose;
    const turns = { "page-first": () => 0, "page-back": () => at - 1, "page-on": () => at + 1, "page-last": () => nPages() - 1 };
    for (const [id, where] of Object.entries(turns)) {
      control(id).addEventListener("click", () => turn(where()));
    }
  }

  const nPages = () => Math.max(1, Math.ceil(queries.length / PER_PAGE));

  function show(result) {
    queries = result.queries;
    runs = result.runs;
    const all = queries.length === overview.n;
    const text = all ? page.plural(overview.n, "query", "queries") : `${page.count(queries.length)} of ${page.plural(overview.n, "query", "queries")}`;
    control("found").textContent = text;
    control("nothing").hidden = queries.length > 0;
    showDuel(result);
    const place = queries.indexOf(open);
    turn(place < 0 ? 0 : Math.floor(place / PER_PAGE));
  }

  function showDuel({ wins }) {
    control("duel").hidden = runs.length === 1 || !filters.measured(runs);
    if (control("duel").hidden) return;
    const button = (value, name, n) =>
      page.el(
        "button",
        {
          type: "button",
          "data-show": value,
          "aria-pressed": String(control("show").value === value),
          onclick: () => {
            control("show").value = control("show").value === value ? "" : value;
            control("filters").dispatchEvent(new Event("change"));
          },
        },
        page.el("span", { class: "data", text: name }),
        page.el("b", { text: page.count(n) }),
      );
    const word = runs.length > 2 ? "best" : "better";
    control("duel").replaceChildren(
      ...runs.map((run) => button(`won:${run}`, `${overview.runs[run].label} ${word}`, wins.get(run))),
      button("won:none", filters.noWinner(runs), wins.get(null)),
      page.el("span", { class: "soft small", text: `by ${control("measure").value}` }),
    );
  }

  function turn(number) {
    at = Math.min(Math.max(number, 0), nPages() - 1);
    const first = at * PER_PAGE;
    control("list").replaceChildren(...queries.slice(first, first + PER_PAGE).map(item));
    control("list").setAttribute("start", String(first + 1));
    control("list").scrollTop = 0;
    control("pages").hidden = nPages() === 1;
    control("page-now").textContent = `page ${page.count(at + 1)} of ${page.count(nPages())}`;
    control("page-first").disabled = control("page-back").disabled = at === 0;
    control("page-on").disabled = control("page-last").disabled = at === nPages() - 1;
    mark();
  }

  function item(i) {
    const withBadges = runs.filter((run) => filters.badges(run, i).length);
    const marks = withBadges.map((run) =>
      page.el(
        "span",
        { class: "of-run" },
        runs.length > 1 ? page.el("span", { class: `key s${overview.runs[run].series}`, title: overview.runs[run].label }) : null,
        runs.length > 1 ? page.el("span", { class: "sr-only", text: `${overview.runs[run].label}: ` }) : null,
        ...filters.badges(run, i).map(([text, kind]) => page.el("span", { class: `badge ${kind}`, text })),
      ),
    );
    const question = shown.plain(index.texts[i]);
    const common = overview.labelled ? null : filters.common(i);
    return page.el(
      "li",
      {},
      page.el(
        "button",
        { type: "button", "data-query": i, onclick: () => choose(i) },
        page.el("span", { class: "question data", dir: "auto", text: question || "(no text)" }),
        page.el("span", { class: "marks" }, ...marks, common === null ? null : page.el("span", { class: "badge", text: `${Math.round(100 * common)}% in common` }), page.el("span", { class: "id data", text: index.ids[i] })),
      ),
    );
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
    const place = queries.indexOf(i);
    if (place >= 0 && Math.floor(place / PER_PAGE) !== at) turn(Math.floor(place / PER_PAGE));
    else mark();
    const button = control("list").querySelector("[aria-current]");
    if (!button) return;
    const inside = button.getBoundingClientRect(), box = control("list").getBoundingClientRect();
    if (inside.top < box.top || inside.bottom > box.bottom) {
      control("list").scrollTop += inside.top - box.top - box.height / 3;
    }
  }

  /* The query before (-1) or after (1) the open one, or null. */
  function neighbour(step) {
    const place = queries.indexOf(open);
    return queries[place < 0 ? (step > 0 ? 0 : -1) : place + step] ?? null;
  }

  function focus() {
    const button = control("list").querySelector("[aria-current]") ?? control("list").querySelector("button");
    if (button) button.focus();
  }

  return { setUp, show, reading, neighbour, focus, place: () => [queries.indexOf(open), queries.length] };
})();
