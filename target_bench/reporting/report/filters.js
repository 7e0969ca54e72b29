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
  let haystack;

  const isFound = (run, i) => data.runs[run].first[i] > 0;
  const nGold = (i) => data.queries[i].gold.length;

  /* The outcome of a query in a run, as [text, class] badges. */
  function badges(run, i) {
    const { outcome, first, ranked, answered, answer } = data.runs[run];
    const parts = [];
    if (ranked && (data.labelled || outcome[i] !== "unlabelled")) {
      const where = outcome[i] === "found" || outcome[i] === "partly" ? `${nGold(i) > 1 ? ", first" : ""} @${first[i]}` : "";
      parts.push([NAMES[outcome[i]] + where, kind(outcome[i])]);
    }
    if (answered) parts.push([answer[i] === "partly" ? "partly right" : answer[i], kind(answer[i])]);
    return parts;
  }

  /* Fill a control; what was chosen stays if it still can be, else the first option is chosen. */
  function fill(id, options, chosen = control(id).options.length ? control(id).value : null) {
    control(id).replaceChildren(...options.map(([value, text]) => page.el("option", { value, text })));
    if (options.some(([value]) => value === chosen)) control(id).value = chosen;
  }

  function setUp() {
    haystack = data.queries.map(({ id, text, answers }) => [id, text, ...answers].map(shown.plain).join("\n").toLowerCase());
    const runs = data.runs.map((run, i) => [String(i), run.label]);
    fill("run-a", runs);
    control("field-b").hidden = runs.length < 2;
    fill("slice", [["", "all"], ...data.slices.map((slice, i) => [String(i), slice.name])]);
    control("field-slice").hidden = data.slices.length === 0;
    fillOthers();
  }

  /* Fill the controls whose choices depend on others; what was chosen stays where it still can be. */
  function fillOthers() {
    const { runs, labelled } = data;
    const single = runs.map((run, i) => [String(i), run.label]).filter(([i]) => i !== control("run-a").value);
    const all = single.length > 1 ? [["all", "all other runs"]] : [];
    const none = ["", "none"];
    fill("run-b", single.length < BESIDE ? [...all, ...single, none] : [none, ...single, ...all]);
    const chosen = chosenRuns();
    const [a] = chosen;
    const several = runs.length > 1;
    const ranked = labelled && runs.some((run) => run.ranked);
    const show = [["", "all queries"]];
    if (runs[a].ranked && labelled) {
      const cutoffs = Object.keys(runs[a].values).filter((name) => /^recall@\d+$/.test(name)).map((name) => name.slice(7));
      show.push(...cutoffs.map((k) => [`fail@${k}`, `failed, or gold missed at ${k}`]));
    }
    if (runs[a].answered) show.push(["wrong", "answer failed or not right"]);
    if (ranked) show.push(["missed", several ? "missed by all runs" : "missed"], ["found", several ? "found by all runs" : "found"]);
    if (ranked && several) show.push(["split", "found by some runs only"]);
    if (chosen.length > 1 && isMeasured(chosen)) {
      show.push(...chosen.map((run) => [`won:${run}`, `won by ${runs[run].label}`]));
      show.push(["differ", "different"], ["won:none", noWinner(chosen)]);
    }
    fill("show", show);
    control("field-outcome").hidden = !labelled && !runs[a].answered;
    const outcomes = ranked ? Object.entries(NAMES).map(([name, text]) => [`r:${name}`, text]) : [];
    const answers = [...new Set(runs[a].answer)].sort().map((name) => [`a:${name}`, `answer: ${name}`]);
    fill("outcome", [["", "any"], ...outcomes, ...answers]);
    const slice = data.slices[control("slice").value];
    control("field-value").hidden = !slice;
    fill("value", slice ? slice.values.map((value, i) => [String(i), value]) : []);
    const shared = sharedMetrics(chosen);
    control("field-measure").hidden = !isMeasured(chosen);
    const before = control("measure").value || (shared.includes(data.main) ? data.main : RANK);
    fill("measure", [[RANK, RANK], ...shared.map((name) => [name, name])], before);
    const order = [["", "as in the split"]];
    if (isMeasured(chosen)) order.unshift(["worst", `failures of ${runs[a].label} first`]);
    const apart = ["apart", "most different rankings first"];
    if (data.common.length) labelled ? order.push(apart) : order.unshift(apart);
    if (chosen.length > 1 && isMeasured(chosen)) order.push(["difference", "largest difference first"]);
    fill("order", order);
  }

  const sharedMetrics = (chosen) => Object.keys(data.runs[chosen[0]].values).filter((name) => chosen.every((run) => name in data.runs[run].values));
  /* Whether there is anything by which one of the runs can be better. */
  const isMeasured = (chosen) => data.labelled || sharedMetrics(chosen).length > 0;
  const noWinner = (chosen) => (chosen.length > 2 ? "no single best" : "equal");

  /* The runs that are looked at; the first is the one that filters and order are about. */
  function chosenRuns() {
    const a = Number(control("run-a").value);
    const b = control("run-b").value;
    if (b === "all") return [a, ...data.runs.keys()].filter((run, i) => i === 0 || run !== a);
    return b === "" ? [a] : [a, Number(b)];
  }

  /* The run that is better than all others at a query, of values one run each; null without one. */
  function winner(chosen, values, i) {
    const own = values.map((run) => run[i]);
    const best = Math.max(...own);
    return own.indexOf(best) === own.lastIndexOf(best) ? chosen[own.indexOf(best)] : null;
  }

  /* How good a run is at each query: values, negative where lower is better; unknown ones count as 0. */
  function goodness(run) {
    const measure = control("measure").value;
    if (measure === RANK) return data.runs[run].first.map((rank) => (rank ? 1 / rank : 0));
    const sign = data.lower.includes(measure) ? -1 : 1;
    return data.runs[run].values[measure].map((value) => sign * (value ?? 0));
  }

  /* Whether a query is shown, as "show" says; `win` and `spread` are functions of its number. */
  function makeTest(id, a, win, spread) {
    const [what, argument] = id.split(/[:@]/);
    const runs = [...data.runs.keys()];
    return {
      "": () => true,
      fail: (i) => (data.runs[a].values[`recall@${argument}`][i] ?? 1) < 1,
      won: (i) => String(win(i) ?? "none") === argument,
      wrong: (i) => ["bad", "warn"].includes(kind(data.runs[a].answer[i])),
      missed: (i) => nGold(i) > 0 && !runs.some((run) => isFound(run, i)),
      found: (i) => runs.every((run) => isFound(run, i)),
      split: (i) => runs.some((run) => isFound(run, i)) && !runs.every((run) => isFound(run, i)),
      differ: (i) => spread(i) > 0,
    }[what];
  }

  /* Whether a query says anything of how good a run is. */
  const counts = (run, i) => (data.runs[run].answered ? !data.runs[run].answer[i].startsWith("not ") : nGold(i) > 0);

  /* Failures of a run first: those without a ranking, then by the measure, then by the first gold table.
     Queries without a gold table or reference answer come last. */
  function failuresFirst(run, values) {
    const { outcome, first } = data.runs[run];
    const group = outcome.map((name, i) => (name === "failed" ? 0 : counts(run, i) ? 1 : 2));
    const near = first.map((rank) => (rank ? 1 / rank : 0));
    return (i, j) => group[i] - group[j] || values[i] - values[j] || near[i] - near[j];
  }

  /* The queries that fit, and how often each run is the best among those that fit but for "show". */
  function apply() {
    const chosen = chosenRuns();
    const [a] = chosen;
    const values = chosen.map(goodness);
    const win = (i) => (counts(a, i) ? winner(chosen, values, i) : "not labelled");
    const spread = (i) => Math.max(...values.map((run) => run[i])) - Math.min(...values.map((run) => run[i]));
    const words = control("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [part, outcome] = control("outcome").value.split(/:(.*)/s);
    const slice = data.slices[control("slice").value];
    const fits = (i) =>
      words.every((word) => haystack[i].includes(word)) &&
      (part !== "r" || data.runs[a].outcome[i] === outcome) &&
      (part !== "a" || data.runs[a].answer[i] === outcome) &&
      (!slice || slice.codes[i] === Number(control("value").value));
    const isShown = makeTest(control("show").value, a, win, spread);
    const fitting = [...data.queries.keys()].filter(fits);
    const wins = new Map([...chosen, null].map((run) => [run, fitting.filter((i) => win(i) === run).length]));
    const queries = fitting.filter(isShown);
    const order = control("order").value;
    if (order === "worst") queries.sort(failuresFirst(a, values[0]));
    if (order === "apart") queries.sort((i, j) => data.common[i] - data.common[j]);
    if (order === "difference") queries.sort((i, j) => spread(j) - spread(i));
    return { queries, runs: chosen, wins };
  }

  return { setUp, fillOthers, apply, badges, kind, noWinner, isMeasured, control };
})();
