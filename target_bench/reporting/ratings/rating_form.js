/* The form: items, what was chosen, a draft in the browser, saving and loading a file. */
(() => {
  const { el, announce, count } = page;
  const form = JSON.parse(document.getElementById("form").textContent);
  const KEY = `target-bench-ratings-${form.run}-${form.criteria}`;
  const MOST_RADIOS = 12;
  const known = new Map(form.items.map((item) => [item.id, item]));
  const names = form.questions.map((one) => one.name);
  const rater = document.getElementById("rater");
  const chosen = new Map(); // id -> Map of criterion -> number
  const shown = new Map(); // id -> { node, set(criterion, number) }

  function rate(id, criterion, value) {
    if (!chosen.has(id)) chosen.set(id, new Map());
    if (value === null) chosen.get(id).delete(criterion);
    else chosen.get(id).set(criterion, value);
    keep();
    progress();
  }
  function progress() {
    let done = 0;
    for (const { id } of form.items) {
      const whole = (chosen.get(id)?.size ?? 0) === names.length;
      shown.get(id).node.classList.toggle("done", whole);
      done += whole;
    }
    document.getElementById("progress").textContent = `${count(done)} of ${count(form.items.length)} rated`;
  }
  function ratings() {
    const found = {};
    for (const { id } of form.items) {
      if (chosen.get(id)?.size) {
        Object.defineProperty(found, id, { value: Object.fromEntries(chosen.get(id)), enumerable: true });
      }
    }
    const { format, version, criteria, run } = form;
    return { format, version, criteria, run, rater: rater.value.trim(), ratings: found };
  }
  function keep() {
    try {
      localStorage.setItem(KEY, JSON.stringify(ratings()));
    } catch {
      /* a browser that keeps nothing for files: the saved file is all there is */
    }
  }
  function kept() {
    try {
      return JSON.parse(localStorage.getItem(KEY));
    } catch {
      return null;
    }
  }
  function fill(given) {
    rater.value = typeof given.rater === "string" ? given.rater : "";
    chosen.clear();
    for (const { id } of form.items) {
      const own = Object.hasOwn(given.ratings, id) ? given.ratings[id] : {};
      for (const name of names) {
        const value = Object.hasOwn(own, name) ? own[name] : null;
        const options = known.get(id).options[name].map(([number]) => number);
        const fits = options.includes(value);
        shown.get(id).set(name, fits ? value : null);
        if (fits) {
          if (!chosen.has(id)) chosen.set(id, new Map());
          chosen.get(id).set(name, value);
        }
      }
    }
    progress();
  }
  function fault(given) {
    if (given === null || typeof given !== "object" || given.format !== form.format) return "This is not a file of ratings.";
    if (given.version !== form.version) return "This file is of another version.";
    if (given.run !== form.run || given.criteria !== form.criteria) return "This file is of another form.";
    return typeof given.ratings === "object" && given.ratings !== null ? "" : "This file has no ratings.";
  }
  function say(text) {
    document.getElementById("message").textContent = text;
  }

  function table(one) {
    const marked = new Set(one.marked.map(([row, column]) => `${row} ${column}`));
    const rows = one.rows.map((row, i) =>
      el("tr", {}, ...row.map(([text, down, across, header], j) =>
        el(header ? "th" : "td", {
          text,
          rowspan: down > 1 ? down : null,
          colspan: across > 1 ? across : null,
          class: marked.has(`${i} ${j}`) ? "marked" : "",
        }))));
    const cut = one.left_out ? el("p", { class: "soft", text: `${count(one.left_out)} rows are left out` }) : null;
    return [el("h3", { text: one.title || "Table" }), el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("tbody", {}, ...rows))), cut];
  }
  function question(item, place, { name, question: text }, setters) {
    const options = item.options[name];
    const group = el("fieldset", { "data-criterion": name }, el("legend", { text }));
    if (options.length > MOST_RADIOS) {
      const pick = el("select", { "aria-label": text, onchange: () => rate(item.id, name, pick.value === "" ? null : Number(pick.value)) },
        el("option", { value: "", text: "–" }), ...options.map(([value, words]) => el("option", { value: String(value), text: words })));
      setters.set(name, (value) => { pick.value = value === null ? "" : String(value); });
      group.append(pick);
      return group;
    }
    const inputs = options.map(([value]) =>
      el("input", { type: "radio", name: `${place}-${name}`, value: String(value), onchange: () => rate(item.id, name, value) }));
    options.forEach(([, words], i) => group.append(el("label", {}, inputs[i], words)));
    setters.set(name, (value) => inputs.forEach((input) => { input.checked = value !== null && Number(input.value) === value; }));
    return group;
  }
  function article(item, place) {
    const setters = new Map();
    const part = (title, text, extra = "") => [el("h3", { text: title }), el("pre", { text, class: extra })];
    const node = el("article", { class: "item", "data-id": item.id },
      el("h2", { text: `${count(place + 1)} of ${count(form.items.length)}` }),
      ...(item.text ? part("Given", item.text) : []),
      ...item.tables.flatMap(table),
      ...part("Answer", item.answer ?? "(there is no answer)", "answer"),
      item.references.length
        ? el("details", { open: true }, el("summary", { text: "References" }), ...item.references.map((text) => el("pre", { text })))
        : null,
      ...form.questions.map((one) => question(item, place, one, setters)));
    shown.set(item.id, { node, set: (name, value) => setters.get(name)(value) });
    return node;
  }

  document.getElementById("items").append(...form.items.map(article));
  rater.addEventListener("input", keep);
  document.getElementById("save").addEventListener("click", () => {
    const text = `${JSON.stringify(ratings(), null, 1)}\n`;
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const who = rater.value.trim().replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
    const link = el("a", { href: address, download: `ratings${who && `-${who}`}.json` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    say("");
    announce("saved");
  });
  document.getElementById("load").addEventListener("change", async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    let given = null;
    try {
      given = JSON.parse(await file.text());
    } catch {
      /* said below: it is not a file of ratings */
    }
    const wrong = fault(given);
    say(wrong);
    if (!wrong) {
      fill(given);
      keep();
      announce("loaded");
    }
    event.target.value = "";
  });
  const draft = kept();
  if (draft && !fault(draft)) fill(draft);
  else progress();
  document.getElementById("items").dataset.ready = "";
})();
