/* The words of a question, marked where they occur in a table: case, accents and a plural s do not count. */
const marks = (() => {
  const segmenter = Intl.Segmenter && new Intl.Segmenter(undefined, { granularity: "word" });
  const isWord = (text) => /[\p{L}\p{N}]/u.test(text);
  let left_out = new Set();

  const setUp = (overview) => (left_out = new Set(overview.stop_words.map(key)));

  function parts(text) {
    if (!segmenter) return text.split(/([\p{L}\p{N}]+)/u);
    return Array.from(segmenter.segment(text), ({ segment }) => segment);
  }
  function key(word) {
    const plain = word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    return plain.length > 3 ? plain.replace(/(?<!s)s$/, "") : plain;
  }
  /* The words of a text that are worth a mark: no stop words, no single letters of an alphabet. */
  function words(text) {
    const found = parts(text).filter(isWord).map(key);
    return new Set(found.filter((word) => !left_out.has(word) && !/^[a-z]$/.test(word)));
  }
  /* A text that may have been cut -> nodes, those words in <mark>. */
  function nodes(value, wanted) {
    const [text, ...cut] = shown.nodes(value);
    if (wanted.size === 0) return [text, ...cut];
    const found = [];
    for (const part of parts(text)) {
      if (isWord(part) && wanted.has(key(part))) found.push(page.el("mark", { text: part }));
      else if (typeof found.at(-1) === "string") found[found.length - 1] += part;
      else found.push(part);
    }
    return [...found, ...cut];
  }
  return { setUp, words, nodes };
})();
