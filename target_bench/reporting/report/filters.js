/* Which queries are listed: the controls, what they say, and the numbers of the queries that fit. */
const filters = (() => {
  const control = (id) => document.getElementById(id);
  const RANK = "rank of the first gold table";
  const GOOD = { first: "good", found: "good", right: "good", correct: "good", partly: "warn" };
  const NAMES = {
    first: "gold first",
    found: "gold found",
    partly: "partly found",
    missed: "gold missed",
    failed: "failed",
  };
  let overview, index, haystack;

  const retrieved = (run, i) => overview.outcomes[index.runs[run].outcome[i]];
  const isRanked = (run) => overview.runs[run].ranked;
  const hasAnswer = (run) => overview.runs[run].answered;
  const answered = (run, i) => overview.runs[run].answers[index.runs[run].answer[i]];
  const isFound = (run, i) => index.runs[run].first[i] > 0;

  /* What became of a query in a run, as [text, class] badges. */
  function badges(run, i) {
    const outcome = retrieved(run, i);
    const rank = index.runs[run].first[i];
    const where = index.n_gold[i] > 1 ? `, first @${rank}` : ` @${rank}`;
    const name = outcome === "found" || outcome === "partly" ? NAMES[outcome] + where : NAMES[outcome];
    const found = isRanked(run) ? [[name, GOOD[outcome] ?? "bad"]] : [];
    if (hasAnswer(run)) {
      const answer = answered(run, i);
      found.push([answer === "partly" ? "partly right" : answer, GOOD[answer] ?? (answer.startsWith("not ") ? "" : "bad")]);
    }
    return found;
  }

  function option(value, text) {
    return page.el("option", { value, text });
  }
  function fill(id, options, chosen) {
    control(id).replaceChildren(...options.map(([value, text]) => option(value, text)));
    if (options.some(([value]) => value === chosen)) control(id).value = chosen;
  }

  function setUp(givenOverview, givenIndex) {
    overview = givenOverview;
    index = givenIndex;
    haystack = index.texts.map((text, i) =>
      [index.ids[i], shown.plain(text), shown.plain(index.answers[i])].join("\n").toLowerCase(),
    );
    const runs = overview.runs.map((run, i) => [String(i), run.label]);
    fill("run-a", runs);
    control("field-b").hidden = runs.length < 2;
    fill("slice", [["", "all"], ...index.slices.map((slice, i) => [String(i), slice.name])]);
    control("field-slice").hidden = index.slices.length === 0;
    fillOthers();
  }

  /* Fill the controls whose choices hang on others; what was chosen stays where it still can be. */
  function fillOthers() {
    const runs = overview.runs;
    const others = runs.map((run, i) => [String(i), run.label]).filter(([i]) => i !== control("run-a").value);
    fill("run-b", [["", "none"], ...others], control("run-b").value);
    const { a, b } = chosenRuns();
    const show = [["", "all queries"]];
    const ranked = runs.some((run) => run.ranked);
    if (ranked) {
      show.push(["missed", runs.length > 1 ? "missed by all runs" : "missed"]);
      show.push(["found", runs.length > 1 ? "found by all runs" : "found"]);
    }
    if (ranked && runs.length > 1) show.push(["split", "found by some runs only"]);
    if (b !== null) {
      show.push(["a", `won by ${runs[a].label}`], ["b", `won by ${runs[b].label}`]);
      show.push(["differ", "different"], ["equal", "equal"]);
    }
    fill("show", show, control("show").value);
    const outcomes = ranked ? overview.outcomes.map((name) => [`r:${name}`, NAMES[name]]) : [];
    const answers = [...runs[a].answers].sort().map((name) => [`a:${name}`, `answer: ${name}`]);
    fill("outcome", [["", "any"], ...outcomes, ...answers], control("outcome").value);
    const slice = index.slices[control("slice").value];
    control("field-value").hidden = !slice;
    fill("value", slice ? slice.values.map((value, i) => [String(i), value]) : [], control("value").value);
    const both = runs[a].metrics.filter((name) => b === null || runs[b].metrics.includes(name));
    const before = control("measure").value || (both.includes(overview.main) ? overview.main : RANK);
    fill("measure", [[RANK, RANK], ...both.map((name) => [name, name])], before);
    const order = [["", "as in the split"], ["worst", `worst of ${runs[a].label} first`]];
    if (b !== null) order.push(["difference", "largest difference first"]);
    fill("order", order, control("order").value);
  }

  function chosenRuns() {
    const b = control("run-b").value;
    return { a: Number(control("run-a").value), b: b === "" ? null : Number(b) };
  }

  /* How good a run is at each query: values, negative where lower is better; unknown ones count as 0. */
  async function goodness(run) {
    const measure = control("measure").value;
    if (measure === RANK) return index.runs[run].first.map((rank) => (rank ? 1 / rank : 0));
    const sign = overview.lower.includes(measure) ? -1 : 1;
    return (await data.metric(run, measure)).map((value) => sign * (value ?? 0));
  }

  function test(id, of_a, of_b) {
    const all = (check) => (i) => overview.runs.every((_, run) => check(run, i));
    return {
      "": null,
      missed: all((run, i) => !isFound(run, i)),
      found: all(isFound),
      split: (i) => {
        const n = overview.runs.filter((_, run) => isFound(run, i)).length;
        return n > 0 && n < overview.runs.length;
      },
      a: (i) => of_a[i] > of_b[i],
      b: (i) => of_a[i] < of_b[i],
      differ: (i) => of_a[i] !== of_b[i],
      equal: (i) => of_a[i] === of_b[i],
    }[id];
  }

  /* The queries that fit, and for two runs how often each is better among those that fit but for "show". */
  async function apply() {
    const { a, b } = chosenRuns();
    const [of_a, of_b] = await Promise.all([goodness(a), b === null ? null : goodness(b)]);
    const words = control("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const tests = [];
    if (words.length) tests.push((i) => words.every((word) => haystack[i].includes(word)));
    const [kind, outcome] = control("outcome").value.split(/:(.*)/s);
    if (kind === "r") tests.push((i) => retrieved(a, i) === outcome);
    if (kind === "a") tests.push((i) => answered(a, i) === outcome);
    const slice = index.slices[control("slice").value];
    if (slice) tests.push((i) => slice.codes[i] === Number(control("value").value));
    const show = test(control("show").value, of_a, of_b);
    const found = [];
    const duel = { a: 0, b: 0, equal: 0 };
    for (let i = 0; i < overview.n; i++) {
      if (!tests.every((fits) => fits(i))) continue;
      if (of_b) duel[of_a[i] > of_b[i] ? "a" : of_a[i] < of_b[i] ? "b" : "equal"]++;
      if (!show || show(i)) found.push(i);
    }
    const order = control("order").value;
    if (order === "worst") found.sort((i, j) => of_a[i] - of_a[j]);
    if (order === "difference") {
      found.sort((i, j) => Math.abs(of_a[j] - of_b[j]) - Math.abs(of_a[i] - of_b[i]));
    }
    return { found, a, b, duel: of_b ? duel : null };
  }

  return { setUp, fillOthers, apply, badges, control };
})();
