/* Which queries are listed: the controls, what they say, and the numbers of the queries that fit. */
const filters = (() => {
  const control = (id) => document.getElementById(id);
  const RANK = "rank of the first gold table";
  const BESIDE = 3; // up to this many runs stand beside each other when a report is opened
  /* "read" and "readable": an answer was understood, which says nothing of how good it is. */
  const GOOD = { first: "good", found: "good", right: "good", correct: "good", partly: "warn", unlabelled: "", read: "", readable: "" };
  const kind = (outcome) => GOOD[outcome] ?? (outcome.startsWith("not ") ? "" : "bad");
  const NAMES = {
    first: "gold first",
    found: "gold found",
    partly: "partly found",
    missed: "gold missed",
    failed: "failed",
    unlabelled: "no gold table",
  };
  let overview, index, haystack;

  const retrieved = (run, i) => overview.outcomes[index.runs[run].outcome[i]];
  const isRanked = (run) => overview.runs[run].ranked;
  const hasAnswer = (run) => overview.runs[run].answered;
  const answered = (run, i) => index.runs[run].answer[i];
  const isFound = (run, i) => index.runs[run].first[i] > 0;

  /* What became of a query in a run, as [text, class] badges. */
  function badges(run, i) {
    const outcome = retrieved(run, i);
    const rank = index.runs[run].first[i];
    const where = index.n_gold[i] > 1 ? `, first @${rank}` : ` @${rank}`;
    const name = outcome === "found" || outcome === "partly" ? NAMES[outcome] + where : NAMES[outcome];
    const isShown = isRanked(run) && (overview.labelled || outcome !== "unlabelled");
    const parts = isShown ? [[name, kind(outcome)]] : [];
    if (hasAnswer(run)) {
      const answer = answered(run, i);
      parts.push([answer === "partly" ? "partly right" : answer, kind(answer)]);
    }
    return parts;
  }

  function option(value, text) {
    return page.el("option", { value, text });
  }
  /* Fill a control; what was chosen stays if it still can be, else the first option is chosen. */
  function fill(id, options, chosen = control(id).options.length ? control(id).value : null) {
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
    fill("run-b", others());
    const chosen = chosenRuns();
    const [a] = chosen;
    const show = [["", "all queries"]];
    const labelled = overview.labelled;
    if (isRanked(a) && labelled) show.push(...cutoffs(a).map((k) => [`fail@${k}`, `failed, or gold missed at ${k}`]));
    if (hasAnswer(a)) show.push(["wrong", "answer failed or not right"]);
    const ranked = runs.some((run) => run.ranked);
    if (ranked && labelled) {
      show.push(["missed", runs.length > 1 ? "missed by all runs" : "missed"]);
      show.push(["found", runs.length > 1 ? "found by all runs" : "found"]);
    }
    if (ranked && labelled && runs.length > 1) show.push(["split", "found by some runs only"]);
    if (chosen.length > 1 && measured(chosen)) {
      show.push(...chosen.map((run) => [`won:${run}`, `won by ${runs[run].label}`]));
      show.push(["differ", "different"], ["won:none", noWinner(chosen)]);
    }
    fill("show", show);
    control("field-outcome").hidden = !labelled && !hasAnswer(a);
    const outcomes = ranked && labelled ? overview.outcomes.map((name) => [`r:${name}`, NAMES[name]]) : [];
    const answers = [...runs[a].answers].sort().map((name) => [`a:${name}`, `answer: ${name}`]);
    fill("outcome", [["", "any"], ...outcomes, ...answers]);
    const slice = index.slices[control("slice").value];
    control("field-value").hidden = !slice;
    fill("value", slice ? slice.values.map((value, i) => [String(i), value]) : []);
    const shared = sharedMetrics(chosen);
    control("field-measure").hidden = !measured(chosen);
    const before = control("measure").value || (shared.includes(overview.main) ? overview.main : RANK);
    fill("measure", [[RANK, RANK], ...shared.map((name) => [name, name])], before);
    const order = [["", "as in the split"]];
    if (measured(chosen)) order.unshift(["worst", `failures of ${runs[a].label} first`]);
    const apart = ["apart", "most different rankings first"];
    if (index.common.length && labelled) order.push(apart);
    else if (index.common.length) order.unshift(apart);
    if (chosen.length > 1 && measured(chosen)) order.push(["difference", "largest difference first"]);
    fill("order", order);
  }

  const sharedMetrics = (chosen) =>
    overview.runs[chosen[0]].metrics.filter((name) => chosen.every((run) => overview.runs[run].metrics.includes(name)));
  /* Whether there is anything by which one of the runs can be better. */
  const measured = (chosen) => overview.labelled || sharedMetrics(chosen).length > 0;

  /* What a run can be compared with; a few runs stand beside each other from the start. */
  function others() {
    const single = overview.runs.map((run, i) => [String(i), run.label]).filter(([i]) => i !== control("run-a").value);
    const none = ["", "none"];
    const all = single.length > 1 ? [["all", "all other runs"]] : [];
    return single.length < BESIDE ? [...all, ...single, none] : [none, ...single, ...all];
  }

  /* The runs that are looked at; the first is the one that filters and order are about. */
  function chosenRuns() {
    const a = Number(control("run-a").value);
    const b = control("run-b").value;
    if (b === "all") return [a, ...overview.runs.map((_, run) => run).filter((run) => run !== a)];
    return b === "" ? [a] : [a, Number(b)];
  }

  const noWinner = (chosen) => (chosen.length > 2 ? "no single best" : "equal");
  const cutoffs = (run) => overview.runs[run].metrics.flatMap((name) => (/^recall@\d+$/.test(name) ? [Number(name.slice(7))] : []));

  /* The run that is better than all others at a query, of values one run each; null without one. */
  function winner(chosen, values, i) {
    let best = -Infinity, winning = null;
    for (let place = 0; place < chosen.length; place++) {
      const value = values[place][i];
      if (value >= best) winning = value > best ? chosen[place] : null;
      best = Math.max(best, value);
    }
    return winning;
  }

  /* How good a run is at each query: values, negative where lower is better; unknown ones count as 0. */
  async function goodness(run) {
    const measure = control("measure").value;
    if (measure === RANK) return index.runs[run].first.map((rank) => (rank ? 1 / rank : 0));
    const sign = overview.lower.includes(measure) ? -1 : 1;
    return (await data.metric(run, measure)).map((value) => sign * (value ?? 0));
  }

  /* Whether a query is shown, as "show" says; `win` and `spread` are functions of its number. */
  async function test(id, a, win, spread) {
    const all = (check) => (i) => overview.runs.every((_, run) => check(run, i));
    const [what, argument] = id.split(/[:@]/);
    if (what === "fail") {
      const recall = await data.metric(a, `recall@${argument}`);
      return (i) => recall[i] !== null && recall[i] < 1;
    }
    if (what === "won") return (i) => String(win(i) ?? "none") === argument;
    return {
      "": null,
      wrong: (i) => ["bad", "warn"].includes(kind(answered(a, i))),
      missed: all((run, i) => !isFound(run, i) && index.n_gold[i] > 0),
      found: all(isFound),
      split: (i) => {
        const n = overview.runs.filter((_, run) => isFound(run, i)).length;
        return n > 0 && n < overview.runs.length;
      },
      differ: (i) => spread(i) > 0,
    }[what];
  }

  /* Failures of a run first: those without a ranking, then by the measure, then by the first gold table.
     Queries without a gold table or reference answer come last. */
  function failuresFirst(run, values) {
    const error = overview.outcomes.indexOf("failed");
    const { outcome, first } = index.runs[run];
    const ranked = outcome.map((place, i) => (place === error ? 0 : counts(run, i) ? 1 : 2));
    const near = first.map((rank) => (rank ? 1 / rank : 0));
    return (i, j) => ranked[i] - ranked[j] || values[i] - values[j] || near[i] - near[j];
  }

  /* Whether a query says anything of how good a run is. */
  const counts = (run, i) => (hasAnswer(run) ? !answered(run, i).startsWith("not ") : index.n_gold[i] > 0);

  /* The queries that fit, and how often each run is the best among those that fit but for "show". */
  async function apply() {
    const chosen = chosenRuns();
    const [a] = chosen;
    const values = await Promise.all(chosen.map(goodness));
    const win = (i) => (counts(a, i) ? winner(chosen, values, i) : "not labelled");
    const spread = (i) => Math.max(...values.map((of_run) => of_run[i])) - Math.min(...values.map((of_run) => of_run[i]));
    const words = control("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const tests = [];
    if (words.length) tests.push((i) => words.every((word) => haystack[i].includes(word)));
    const [of, outcome] = control("outcome").value.split(/:(.*)/s);
    if (of === "r") tests.push((i) => retrieved(a, i) === outcome);
    if (of === "a") tests.push((i) => answered(a, i) === outcome);
    const slice = index.slices[control("slice").value];
    if (slice) tests.push((i) => slice.codes[i] === Number(control("value").value));
    const show = await test(control("show").value, a, win, spread);
    const queries = [];
    const wins = new Map([...chosen, null].map((run) => [run, 0]));
    for (let i = 0; i < overview.n; i++) {
      if (!tests.every((fits) => fits(i))) continue;
      const best = win(i);
      if (wins.has(best)) wins.set(best, wins.get(best) + 1);
      if (!show || show(i)) queries.push(i);
    }
    const order = control("order").value;
    if (order === "worst") queries.sort(failuresFirst(a, values[0]));
    if (order === "apart") queries.sort((i, j) => index.common[i] - index.common[j]);
    if (order === "difference") {
      const spreads = index.ids.map((_, i) => spread(i));
      queries.sort((i, j) => spreads[j] - spreads[i]);
    }
    return { queries, runs: chosen, wins };
  }

  /* How far the rankings of all runs agree on a query; null with fewer than two. */
  const common = (i) => (index.common.length ? index.common[i] : null);

  return { setUp, fillOthers, apply, badges, kind, noWinner, measured, common, control };
})();
