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
    const keys = parts(text).filter(isWord).map(key);
    return new Set(keys.filter((word) => !left_out.has(word) && !/^[a-z]$/.test(word)));
  }
  /* A text that may have been cut -> nodes, those words in <mark>. */
  function nodes(value, marked) {
    const [text, ...cut] = shown.nodes(value);
    if (marked.size === 0) return [text, ...cut];
    const out = [];
    for (const part of parts(text)) {
      if (isWord(part) && marked.has(key(part))) out.push(page.el("mark", { text: part }));
      else if (typeof out.at(-1) === "string") out[out.length - 1] += part;
      else out.push(part);
    }
    return [...out, ...cut];
  }
  return { setUp, words, nodes };
})();
