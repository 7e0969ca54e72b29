/* The form of labels: one question at a time, its tables, and what is said of each. */
(() => {
  const { el, count } = page;
  const { form } = forms;
  const LABELS = ["relevant", "not relevant", "cannot say"];
  const SHOWN_ROWS = 8;
  const FEW = 4; // rows that are not worth a button
  const given = form.items.map(() => ({ question: null, text: null, tables: new Map() }));
  const box = document.getElementById("items");
  const nothing = { question: null, text: null, tables: {} };
  let at = 0; // the question that is shown
  let current = -1; // the table that keys are about

  const done = (i) => {
    const { question, tables } = given[i];
    if (question === "rejected") return true;
    return (!form.review || question !== null) && form.items[i].tables.every((_, j) => tables.has(j));
  };
  const begun = ({ question, text, tables }) => question !== null || text !== null || tables.size > 0;

  function collect() {
    const entry = (item, { question, text, tables }) => ({
      asked: item.text,
      question,
      text: text ?? item.text,
      tables: item.tables.map(({ id }, j) => [...id, tables.get(j) ?? null]),
    });
    const filled = form.items.map((item, i) => [item, given[i]]).filter(([, own]) => begun(own));
    return forms.byId(filled.map(([item, own]) => [item.id, entry(item, own)]));
  }
  function fill(saved) {
    form.items.forEach((item, i) => {
      const own = Object.hasOwn(saved, item.id) ? saved[item.id] : nothing;
      const rows = Array.isArray(own.tables) ? own.tables : [];
      const label = ({ id }) => rows.find((row) => row[0] === id[0] && row[1] === id[1])?.[2];
      given[i].question = ["accepted", "rejected"].includes(own.question) ? own.question : null;
      given[i].text = typeof own.text === "string" && own.text !== item.text ? own.text : null;
      given[i].tables = new Map(item.tables.map((table, j) => [j, label(table)]).filter(([, said]) => LABELS.includes(said)));
    });
    const open = form.items.findIndex((_, i) => !done(i));
    show(open < 0 ? 0 : open);
  }
  function changed() {
    forms.keep();
    progress();
  }
  function progress() {
    const n = form.items.filter((_, i) => done(i)).length;
    forms.progress(`${count(n)} of ${page.plural(form.items.length, "question")} done`);
    box.querySelectorAll(".item[data-table]").forEach((node) => node.classList.toggle("done", given[at].tables.has(Number(node.dataset.table))));
    document.getElementById("next-open").disabled = n === form.items.length;
  }

  /* Text with the words of the question marked. A value may be cut: [its beginning, characters left out]. */
  function marked(value, words) {
    const text = Array.isArray(value) ? `${value[0]}…` : value;
    return text.split(/([\p{L}\p{N}]+)/u).map((part) => (words.has(part.toLowerCase()) ? el("mark", { text: part }) : part));
  }
  function rowsOf(table, words) {
    const evidence = new Set(table.evidence.map(([i]) => i));
    const holds = (row) => row.some((cell) => cell !== null && marked(cell, words).some((part) => typeof part !== "string"));
    const first = table.rows.map((_, i) => i).filter((i) => i < SHOWN_ROWS || evidence.has(i) || holds(table.rows[i]));
    return first.length + FEW < table.rows.length ? first : table.rows.map((_, i) => i);
  }
  function grid(table, words, places) {
    const evidence = new Set(table.evidence.map((place) => place.join(" ")));
    const cell = (value, i, j) => {
      const marks = evidence.has(`${i} ${j}`) ? "marked" : "";
      return value === null ? el("td", { class: `soft ${marks}`, text: "NULL" }) : el("td", { dir: "auto", class: marks }, ...marked(value, words));
    };
    const gap = (from, to) =>
      to > from ? [el("tr", {}, el("td", { class: "gap", colspan: Math.max(table.header.length, 1), text: `${page.plural(to - from, "row")} not shown` }))] : [];
    let last = -1;
    const rows = places.flatMap((i) => {
      const place = table.places[i];
      const before = gap(last + 1, place);
      last = place;
      return [...before, el("tr", {}, ...table.rows[i].map((value, j) => cell(value, i, j)))];
    });
    return el("table", {},
      el("thead", {}, el("tr", {}, ...table.header.map((name) => el("th", { scope: "col", dir: "auto" }, ...marked(name, words))))),
      el("tbody", {}, ...rows, ...gap(last + 1, table.n_rows)));
  }
  function content(table) {
    const words = new Set(table.words);
    const places = rowsOf(table, words);
    const inside = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows of the table" }, grid(table, words, places));
    const all = table.rows.map((_, i) => i);
    const more = places.length < all.length
      ? el("button", { type: "button", class: "more", text: `Show ${count(all.length)} rows`, onclick: () => { inside.replaceChildren(grid(table, words, all)); more.remove(); } })
      : null;
    const size = `${page.plural(table.n_rows, "row")}, ${page.plural(table.n_columns, "column")}`;
    const left = table.n_columns > table.header.length ? `; the first ${count(table.header.length)} columns are shown` : "";
    return [
      el("h3", { class: "data", dir: "auto" }, ...marked(table.title || table.id[1], words)),
      el("p", { class: "small soft data", text: `${table.id[0] === "0" ? "" : `${table.id[0]} / `}${table.id[1]} · ${size}${left}` }),
      inside,
      more,
    ];
  }
  function choices(name, options, chosen, choose) {
    return el("fieldset", { class: "choices" }, el("legend", { class: "sr-only", text: name }),
      ...options.map(([value, words, key]) =>
        el("label", {}, el("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choose(value) }), words, el("kbd", { class: "keys", text: key }))));
  }
  function article(table, j) {
    const label = (value) => {
      given[at].tables.set(j, value);
      select(j);
      changed();
    };
    const node = el("article", { class: "item", "data-table": j, onfocusin: () => select(j) }, ...content(table),
      choices(`Table ${j + 1} of ${form.items[at].tables.length}`, LABELS.map((name, i) => [name, name, String(i + 1)]), given[at].tables.get(j) ?? null, label));
    return node;
  }
  function select(j) {
    current = j;
    box.querySelectorAll(".item[data-table]").forEach((node) => node.classList.toggle("current", Number(node.dataset.table) === j));
  }

  function question(item) {
    const own = given[at];
    const decide = (value) => {
      own.question = value;
      changed();
    };
    const edited = () => {
      own.text = area.value.trim() && area.value !== item.text ? area.value : null;
      changed();
    };
    const area = el("textarea", { "aria-label": "The question, which may be edited", dir: "auto", oninput: edited });
    area.value = own.text ?? item.text;
    const verdicts = form.review
      ? [["accepted", "accept", "A"], ["rejected", "reject", "R"]]
      : [["accepted", "can be judged", "A"], ["rejected", "reject the question", "R"]];
    return el("div", { class: "question" },
      ...item.answers.map((text) => el("p", { class: "data", dir: "auto" }, el("span", { class: "soft", text: "Answer: " }), text)),
      form.review ? area : null,
      choices("The question", verdicts, own.question, decide));
  }
  function show(i) {
    at = i;
    current = -1;
    const item = form.items[i];
    const step = (id, name, text, to) =>
      el("button", { type: "button", id, text, "aria-label": name, disabled: to < 0 || to >= form.items.length, onclick: () => go(to) });
    const steps = el("section", { class: "steps", "aria-label": "Question" },
      el("div", {},
        el("span", { class: "where", text: `Question ${count(i + 1)} of ${count(form.items.length)}` }),
        step("previous", "Previous question", "‹", i - 1), step("next", "Next question", "›", i + 1),
        el("button", { type: "button", id: "next-open", text: "Next open", onclick: nextOpen })),
      el("h2", { class: "data", dir: "auto", tabindex: "-1", text: item.text }));
    const gold = item.gold.map((table) => el("article", { class: "item gold" }, el("p", { class: "badge good", text: "gold table" }), ...content(table)));
    const keys = el("p", { class: "small soft keys" },
      ...(item.tables.length ? [el("kbd", { text: "J" }), el("kbd", { text: "K" }), " next and previous table, "] : []),
      ...(item.tables.length ? [..."123"].map((key) => el("kbd", { text: key })).concat(" label it, ") : []),
      el("kbd", { text: "N" }), " next open question, ",
      el("kbd", { text: "P" }), " previous question");
    box.replaceChildren(steps, question(item), ...gold, ...item.tables.map(article), keys);
    progress();
  }
  function go(i) {
    if (i < 0 || i >= form.items.length) return;
    show(i);
    box.scrollIntoView();
    box.querySelector("h2").focus({ preventScroll: true });
  }
  function nextOpen() {
    const order = [...form.items.keys()].map((i) => (at + 1 + i) % form.items.length);
    const open = order.find((i) => !done(i));
    if (open !== undefined) go(open);
  }

  function moveTo(j) {
    const node = box.querySelector(`.item[data-table="${j}"]`);
    if (!node) return;
    select(j);
    node.scrollIntoView({ block: "start", behavior: "instant" });
  }
  function press(name, value) {
    const input = [...box.querySelectorAll("input[type=radio]")].find((one) => one.name === name && one.value === value);
    if (input) input.click();
  }
  function label(number) {
    const n = form.items[at].tables.length;
    if (!n) return;
    const j = Math.max(current, 0);
    press(`Table ${j + 1} of ${n}`, LABELS[number]);
    moveTo(Math.min(j + 1, n - 1));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, select, input:not([type=radio])")) return;
    const does = {
      j: () => moveTo(current + 1), k: () => moveTo(current - 1),
      1: () => label(0), 2: () => label(1), 3: () => label(2),
      a: () => press("The question", "accepted"), r: () => press("The question", "rejected"),
      n: nextOpen, p: () => go(at - 1),
    }[event.key.toLowerCase()];
    if (!does) return;
    event.preventDefault();
    does();
  });

  forms.start(collect, fill);
})();
