// Text that came from elsewhere cannot play tricks on the terminal.
import t from "tap";
import { paintFor, visible, visibleLines } from "../../../cli/terminal/text.js";
import { ioOf } from "../command-line.js";

const tricks: [what: string, text: string, shown: string][] = [
  ["clears the screen", "a\u001b[2Jb", "a\\u001b[2Jb"],
  ["the same by a C1 control", "a\u009b2Jb", "a\\u009b2Jb"],
  ["goes back over what stands there", "rm\r\bok", "rm\\u000d\\u0008ok"],
  ["a second line of a table", "a\nb", "a\\u000ab"],
  ["turns the reading direction", "a\u202egnp.exe", "a\\u202egnp.exe"],
  ["delete", "a\u007f", "a\\u007f"],
  ["nothing special", "Ada Müller 李 🙂 «»", "Ada Müller 李 🙂 «»"],
];
for (const [what, text, shown] of tricks) t.equal(visible(text), shown, what);

t.equal(visibleLines("one\n\ttwo\u001b[0m"), "one\n\ttwo\\u001b[0m", "lines and tabs stay where lines are wanted");

t.test("colours only on a terminal that wants them", async (t) => {
  const paint = (terminal: boolean, env: NodeJS.ProcessEnv) => paintFor(ioOf({ terminal }).io.stdout, env)("red", "x");
  t.equal(paint(true, {}), "\u001b[31mx\u001b[39m");
  t.equal(paint(false, {}), "x", "not in a pipe");
  t.equal(paint(true, { NO_COLOR: "1" }), "x", "NO_COLOR");
  t.equal(paint(true, { TERM: "dumb" }), "x", "a terminal without colours");
});
