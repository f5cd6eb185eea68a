// The commands in docs/streams.md print what the page shows, at a terminal.
import { readFileSync } from "node:fs";
import t from "tap";
import { replay } from "../scenarios/transcript.js";
import { codeOf } from "./markdown.js";
import { openStudio } from "./studio.js";

/** Makes a picture and a film, whose content does not matter, and logs in. */
const BEFORE = `$ head -c 1000 /dev/zero > ada.png; head -c 5000000 /dev/zero > ada.mp4

$ PORTICO_PASSWORD='{password}' portico login < /dev/null
Logged in to …

`;

t.test("the commands of the page print what the page shows", async (t) => {
  const examples = codeOf(readFileSync("docs/streams.md", "utf8"), "").filter((code) => code.startsWith("$ "));
  t.ok(examples.length >= 6, `${examples.length} transcripts`);
  const { url, password } = await openStudio(t);
  await replay(t, BEFORE + examples.join("\n"), { url, data: t.testdir(), values: { password } });
});
