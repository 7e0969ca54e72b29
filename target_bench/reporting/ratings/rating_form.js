/* The rating form: answers, and what was chosen for each. */
(() => {
  const { el, count } = page;
  const { form } = forms;
  const MOST_RADIOS = 12;
  const known = new Map(form.items.map((item) => [item.id, item]));
  const names = form.questions.map((one) => one.name);
  const chosen = new Map(); // id -> Map of criterion -> number
  const shown = new Map(); // id -> { node, set(criterion, number) }

  function rate(id, criterion, value) {
    if (!chosen.has(id)) chosen.set(id, new Map());
    if (value === null) chosen.get(id).delete(criterion);
    else chosen.get(id).set(criterion, value);
    forms.keep();
    progress();
  }
  function progress() {
    let done = 0;
    for (const { id } of form.items) {
      const whole = (chosen.get(id)?.size ?? 0) === names.length;
      shown.get(id).node.classList.toggle("done", whole);
      done += whole;
    }
    forms.progress(`${count(done)} of ${count(form.items.length)} rated`);
  }
  function collect() {
    const rated = form.items.filter(({ id }) => chosen.get(id)?.size);
    return forms.byId(rated.map(({ id }) => [id, Object.fromEntries(chosen.get(id))]));
  }
  function fill(given) {
    chosen.clear();
    for (const { id } of form.items) {
      const own = Object.hasOwn(given, id) ? given[id] : {};
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
  forms.start(collect, fill);
})();
