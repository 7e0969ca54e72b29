// A provider of promptfoo without a model; promptfoo.json names it twice.
//   npx promptfoo eval -c promptfoo.json -o promptfoo_results.json --no-cache
module.exports = class {
  constructor(options) { this.name = options.config.name; }
  id() { return this.name; }
  async callApi(prompt) {
    const i = Number(/is (\d+)\+/.exec(prompt)[1]);
    const right = this.name === 'careful' || i % 3;
    return { output: `${i % 2 ? '' : 'It is '}${right ? 2 * i : -1}` };
  }
};
