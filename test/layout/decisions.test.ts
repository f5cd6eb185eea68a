// The page of a decision (docs/decisions) has a fixed form: it is short, has a status and a date,
// is in the index, and names the decision that replaced it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

const FOLDER = "docs/decisions";
const MAX_WORDS = 600;
const STATUS = /^Status: (?:proposed|accepted|superseded by \[\d+\]\(\S+\.md\)), \d{4}-\d{2}-\d{2}(?:; .+)?$/;
const SECTIONS = ["Context", "Decision", "Consequences"];

const files = readdirSync(FOLDER).filter((name) => /^\d/.test(name));
const index = readFileSync(join(FOLDER, "README.md"), "utf8");

/**
 * The ways in which a page differs from the form.
 * @param file its name in the folder
 */
function problemsOf(file: string, page: string): string[] {
  const problems: string[] = [];
  const number = Number.parseInt(file, 10);
  const [first = "", , status = ""] = page.split("\n");
  const title = first.startsWith(`# ${number}. `) ? first.slice(first.indexOf(". ") + 2) : undefined;
  if (title === undefined) problems.push(`does not begin with "# ${number}. Title"`);
  const words = page.split(/\s+/).filter((word) => word !== "").length;
  if (words > MAX_WORDS) problems.push(`has ${words} words, at most ${MAX_WORDS} are allowed`);
  if (!STATUS.test(status)) problems.push("has no status with a date in its third line");
  for (const section of SECTIONS) {
    if (!new RegExp(`^${section}\\b[^:\\n]*:`, "m").test(page)) problems.push(`has no section ${section}`);
  }
  for (const [, name, target = ""] of status.matchAll(/\[(\d+)\]\(([^)]+)\)/g)) {
    if (!files.includes(target) || Number.parseInt(target, 10) !== Number(name))
      problems.push(`its status names ${name} (${target}), which is no decision`);
  }
  const line = index.split("\n").find((text) => text.includes(`${number}. [${title}](${file})`));
  if (line === undefined) problems.push("is not in README.md under its title");
  const [, successor] = /^Status: superseded by \[(\d+)\]/.exec(status) ?? [];
  if (line !== undefined && successor !== undefined && !line.endsWith(`superseded by ${successor}`))
    problems.push(`README.md does not say that it is superseded by ${successor}`);
  return problems;
}

t.test("every page of a decision has the fixed form", async (t) => {
  t.same(
    files.flatMap((file) => problemsOf(file, readFileSync(join(FOLDER, file), "utf8")).map((one) => `${file} ${one}`)),
    [],
  );
});

t.test("the index links to every page, and every linked page exists", async (t) => {
  const linked = [...index.matchAll(/\]\((\d[^)]+)\)/g)].map(([, file = ""]) => file);
  t.same(linked.sort(), files.sort());
});

/** A superseded decision. Each row changes one thing, so that the page differs from the form. */
const FILE = "0016-where-a-calls-time-goes.md";
const DEPARTURES: readonly (readonly [what: string, from: RegExp | string, to: string, problem: RegExp])[] = [
  ["another number", "# 16. ", "# 17. ", /does not begin with "# 16\. Title"/],
  ["another title than in the index", "# 16. ", "# 16. Only ", /not in README\.md/],
  ["more than 600 words", /$/, " word".repeat(MAX_WORDS), /words, at most 600/],
  ["no date", /, \d{4}-\d{2}-\d{2};/, ";", /no status with a date/],
  ["no context", "Context: ", "Before: ", /no section Context/],
  ["no decision", "Decision: ", "Choice: ", /no section Decision/],
  ["no consequences", "Consequences: ", "Then: ", /no section Consequences/],
  ["a successor that does not exist", "[49](0049-own-sockets.md)", "[49](0049-none.md)", /which is no decision/],
  [
    "a successor under another number",
    "[49](0049-own-sockets.md)",
    "[48](0049-own-sockets.md)",
    /which is no decision/,
  ],
  [
    "another successor than in the index",
    "[49](0049-own-sockets.md)",
    "[50](0050-http2-and-tls-at-the-door.md)",
    /README\.md does not say/,
  ],
];
for (const [what, from, to, problem] of DEPARTURES) {
  t.test(`a page with ${what} is found`, async (t) => {
    t.match(problemsOf(FILE, readFileSync(join(FOLDER, FILE), "utf8").replace(from, to)).join("\n"), problem);
  });
}
