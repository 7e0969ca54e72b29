/* What every form does: the person's name, a draft in the browser, saving and loading a file. */
const forms = (() => {
  const { el, announce } = page;
  const form = JSON.parse(document.getElementById("form").textContent);
  const { format, version, same, who, what } = form.saved; // what a saved file is
  const key = `target-bench ${what} ${Object.values(same).join(" ")}`;
  const person = document.getElementById("person");
  let own; // { collect, fill } of the form

  const record = () => ({ format, version, ...same, [who]: person.value.trim(), [what]: own.collect() });
  function keep() {
    try {
      localStorage.setItem(key, JSON.stringify(record()));
    } catch {
      /* a browser that keeps nothing for files: the saved file is all there is */
    }
  }
  function kept() {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  }
  function fault(given) {
    if (given === null || typeof given !== "object" || given.format !== format) return `This is not a file of ${what}.`;
    if (given.version !== version) return "This file is of another version.";
    if (Object.entries(same).some(([name, value]) => given[name] !== value)) return "This file is of another form.";
    return typeof given[what] === "object" && given[what] !== null ? "" : `This file has no ${what}.`;
  }
  function fill(given) {
    person.value = typeof given[who] === "string" ? given[who] : "";
    own.fill(given[what]);
  }
  const say = (text) => (document.getElementById("message").textContent = text);

  function save() {
    const text = `${JSON.stringify(record(), null, 1)}\n`;
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const name = person.value.trim().replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
    const link = el("a", { href: address, download: `${what}${name && `-${name}`}.json` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    say("");
    announce("saved");
  }
  async function load(event) {
    const file = event.target.files[0];
    if (!file) return;
    let given = null;
    try {
      given = JSON.parse(await file.text());
    } catch {
      /* said below: it is not such a file */
    }
    const wrong = fault(given);
    say(wrong);
    if (!wrong) {
      fill(given);
      keep();
      announce("loaded");
    }
    event.target.value = "";
  }

  /* Begin with an empty form or the draft. `collect()` gives what is filled in as an object by id, `fill(object)` takes it. */
  function start(collect, take) {
    own = { collect, fill: take };
    person.addEventListener("input", keep);
    document.getElementById("save").addEventListener("click", save);
    document.getElementById("load").addEventListener("change", load);
    const draft = kept();
    if (draft && !fault(draft)) fill(draft);
    else own.fill({});
    document.getElementById("items").dataset.ready = "";
  }
  /* An object with keys of others: `__proto__` is one like any other. */
  function byId(entries) {
    const found = {};
    for (const [id, value] of entries) Object.defineProperty(found, id, { value, enumerable: true });
    return found;
  }
  const progress = (text) => (document.getElementById("progress").textContent = text);

  return { form, start, keep, byId, progress };
})();
