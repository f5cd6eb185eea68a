// Each example and each bound in the message of a refused setting is accepted.
import t from "tap";
import { SETTINGS } from "../../src/config/config.js";

/** A text that every setting refuses if it checks its text. */
const REFUSED = "\u0000 ?";

/** The values in a message: after "such as", between "from" and "to", and in a list of words. */
function offeredBy(message: string): string[] {
  const [, examples = ""] = /such as (.*?)(?: \(|$)/.exec(message) ?? [];
  const [, from, to] = /from (\S+) to (\S+?)(?:,| bytes|$)/.exec(message) ?? [];
  const [, words = ""] = /must be one of (.*)$/.exec(message) ?? [];
  return [...`${examples}, ${words}`.split(/, | or /), from, to].flatMap((word) => word || []);
}

let offered = 0;
for (const [name, { parse }] of Object.entries(SETTINGS)) {
  let message: string;
  try {
    parse(REFUSED);
    continue;
  } catch (error) {
    ({ message } = error as Error);
  }
  t.test(`${name}: ${message}`, async (t) => {
    for (const word of offeredBy(message)) {
      offered++;
      t.doesNotThrow(() => parse(word), word);
    }
  });
}

t.test("messages contain examples and bounds", async (t) => {
  t.ok(offered > 40, `${offered}`);
});
