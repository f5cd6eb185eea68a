// Control characters in text from services and accounts do not reach the terminal.
import t from "tap";
import { paintFor, visible, visibleLines } from "../../../cli/terminal/text.js";
import { ioOf } from "../command-line.js";

const controls: [what: string, text: string, shown: string][] = [
  ["clears the screen", "a\u001b[2Jb", "a\\u001b[2Jb"],
  ["clears the screen by a C1 control", "a\u009b2Jb", "a\\u009b2Jb"],
  ["overwrites a line", "rm\r\bok", "rm\\u000d\\u0008ok"],
  ["starts another line of a table", "a\nb", "a\\u000ab"],
  ["turns the reading direction (bidirectional control)", "a\u202egnp.exe", "a\\u202egnp.exe"],
  ["delete", "a\u007f", "a\\u007f"],
  ["nothing special", "Ada Müller 李 🙂 «»", "Ada Müller 李 🙂 «»"],
];
for (const [what, text, shown] of controls) t.equal(visible(text), shown, what);

t.equal(visibleLines("one\n\ttwo\u001b[0m"), "one\n\ttwo\\u001b[0m", "lines and tabs stay where lines are wanted");

t.test("uses colours only on a terminal that supports them", async (t) => {
  const paint = (terminal: boolean, env: NodeJS.ProcessEnv) => paintFor(ioOf({ terminal }).io.stdout, env)("red", "x");
  t.equal(paint(true, {}), "\u001b[31mx\u001b[39m");
  t.equal(paint(false, {}), "x", "not in a pipe");
  t.equal(paint(true, { NO_COLOR: "1" }), "x", "NO_COLOR");
  t.equal(paint(true, { TERM: "dumb" }), "x", "a terminal without colours");
});
