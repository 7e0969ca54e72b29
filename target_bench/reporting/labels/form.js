/* The form: a page for each query with its items, and what people reply to each. Texts reach the page as text only. */
(() => {
  const { el, count, plural, announce } = page;
  const form = JSON.parse(document.getElementById("form").textContent);
  const byId = (id) => document.getElementById(id);
  const draft = `target-bench form ${form.key}`;
  const replies = form.items.map(() => ({})); // criterion -> reply
  const pages = []; // lists of the places of items with one query
  form.items.forEach((item, i) => {
    const last = pages.at(-1);
    if (last && form.items[last[0]].key.query_id === item.key.query_id) last.push(i);
    else pages.push([i]);
  });
  let at = 0; // the page that is shown

  const done = (i) => form.items[i].criteria.every(({ name }) => replies[i][name] !== undefined);
  const closed = (places) => places.every(done);

  /* Records of all items of the pages on which anything was filled in; what is open is null. */
  function records() {
    const annotator = byId("person").value.trim();
    const begun = pages.filter((places) => places.some((i) => Object.keys(replies[i]).length));
    return begun.flat().map((i) => {
      const { key, asked, criteria } = form.items[i];
      const given = criteria.map(({ name }) => [name, replies[i][name] ?? null]);
      return { ...key, annotator, asked, ...Object.fromEntries(given) };
    });
  }
  const name = (key) => JSON.stringify(Object.entries(key).sort());
  function fill(given) {
    const places = new Map(form.items.map(({ key }, i) => [name(key), i]));
    const fields = Object.keys(form.items[0].key);
    replies.forEach((_, i) => (replies[i] = {}));
    for (const record of given) {
      byId("person").value = typeof record.annotator === "string" ? record.annotator : "";
      const i = places.get(name(Object.fromEntries(fields.filter((f) => f in record).map((f) => [f, record[f]]))));
      if (i === undefined) continue;
      const { criteria } = form.items[i];
      for (const { name, options } of criteria) if (options.some(([value]) => value === record[name])) replies[i][name] = record[name];
    }
    const open = pages.findIndex((places) => !closed(places));
    show(Math.max(open, 0));
  }
  function keep() {
    try {
      localStorage.setItem(draft, JSON.stringify(records()));
    } catch {
      /* a browser that keeps nothing for files: the saved file is all there is */
    }
  }
  function save() {
    const address = URL.createObjectURL(new Blob([`${JSON.stringify(records(), null, 1)}\n`], { type: "application/json" }));
    const person = byId("person").value.trim().replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
    const link = el("a", { href: address, download: `labels${person && `-${person}`}.json` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    announce("saved");
  }
  async function load(event) {
    const [file] = event.target.files;
    let given = null;
    try {
      given = JSON.parse(await file.text());
    } catch {
      /* told below */
    }
    const ids = new Set(form.items.map(({ key }) => key.query_id));
    const fits = Array.isArray(given) && given.some((record) => record !== null && ids.has(record.query_id));
    byId("message").textContent = fits ? "" : "This is not a file that this form saved.";
    if (fits) {
      fill(given.filter((record) => record !== null && typeof record === "object"));
      keep();
      announce("loaded");
    }
    event.target.value = "";
  }

  function table({ title, rows, marked }) {
    const marks = new Set(marked.map(([i, j]) => `${i} ${j}`));
    const width = Math.max(1, ...rows.map((row) => row?.length ?? 0));
    const cell = ([text, down, across, header], i, j) =>
      el(header ? "th" : "td", { text, dir: "auto", rowspan: down > 1 ? down : null, colspan: across > 1 ? across : null, class: marks.has(`${i} ${j}`) ? "marked" : "" });
    const lines = rows.map((row, i) =>
      el("tr", {}, ...(row ? row.map((values, j) => cell(values, i, j)) : [el("td", { class: "gap", colspan: width, text: "rows not shown" })])));
    return [el("h3", { class: "data", dir: "auto", text: title }), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, el("table", {}, el("tbody", {}, ...lines)))];
  }
  function criterion(i, { name, question, options }) {
    const choose = (value) => {
      replies[i][name] = value;
      changed();
    };
    const choices = options.map(([value, words]) =>
      el("label", {}, el("input", { type: "radio", name: `${i} ${name}`, checked: replies[i][name] === value, onchange: () => choose(value) }), words));
    return el("fieldset", { "data-criterion": name }, el("legend", { text: question }), ...choices);
  }
  function article(i) {
    const item = form.items[i];
    return el("article", { class: "item", "data-place": i },
      ...item.texts.flatMap(([name, text]) => [el("h3", { text: name }), el("pre", { dir: "auto", text, "data-text": name })]),
      ...item.tables.flatMap(table),
      ...item.criteria.map((asked) => criterion(i, asked)));
  }
  function show(number) {
    at = number;
    byId("asked").textContent = form.items[pages[at][0]].asked;
    byId("items").replaceChildren(...pages[at].map(article));
    byId("where").textContent = `${count(at + 1)} of ${count(pages.length)}`;
    byId("previous").disabled = at === 0;
    byId("next").disabled = at === pages.length - 1;
    progress();
  }
  function progress() {
    document.querySelectorAll(".item").forEach((node) => node.classList.toggle("done", done(Number(node.dataset.place))));
    const n = form.items.filter((_, i) => done(i)).length;
    byId("progress").textContent = `${count(n)} of ${plural(form.items.length, "item")} done`;
    byId("open").disabled = pages.every(closed);
  }
  function changed() {
    keep();
    progress();
  }
  function go(number) {
    if (number < 0 || number >= pages.length) return;
    show(number);
    byId("asked").focus();
  }
  const nextOpen = () => go([...pages.keys()].map((i) => (at + 1 + i) % pages.length).find((i) => !closed(pages[i])) ?? at);
  /* A key chooses the reply to the first criterion of the page that has none. */
  function choose(number) {
    const i = pages[at].find((place) => !done(place));
    if (i === undefined) return;
    const { name } = form.items[i].criteria.find((each) => replies[i][each.name] === undefined);
    const inputs = document.querySelectorAll(`.item[data-place="${i}"] fieldset[data-criterion="${name}"] input`);
    inputs[number]?.click();
    document.querySelector(".item:not(.done)")?.scrollIntoView({ block: "nearest", behavior: "instant" });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio])")) return;
    const key = event.key.toLowerCase();
    if (key === "n") nextOpen();
    else if (key === "p") go(at - 1);
    else if (/^[1-9]$/.test(key)) choose(Number(key) - 1);
    else return;
    event.preventDefault();
  });
  byId("person").addEventListener("input", keep);
  byId("save").addEventListener("click", save);
  byId("load").addEventListener("change", load);
  byId("previous").addEventListener("click", () => go(at - 1));
  byId("next").addEventListener("click", () => go(at + 1));
  byId("open").addEventListener("click", nextOpen);
  let kept = [];
  try {
    kept = JSON.parse(localStorage.getItem(draft)) ?? [];
  } catch {
    /* as in keep */
  }
  fill(Array.isArray(kept) ? kept : []);
  byId("items").dataset.ready = "";
})();
