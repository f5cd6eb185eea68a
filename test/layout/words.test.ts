// Comments, test titles and pages are plain English: no wide lines, no phrases that must be read
// twice, one word for a thing. The words are in the glossary of docs/how-it-works.md.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

const MAX_COLUMNS = 100;
const MAX_TERMS = 40;

/** Phrases that have a plainer form, by what to write instead. */
const PHRASES: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\b(?:that|those) of\b/i, "the noun"],
  [/\bso many\b/i, "the number, or `count`"],
  [/\bof which\b/i, "a second sentence"],
  [/\bbut for\b/i, "except"],
  [/\bwhence\b/i, "from where"],
  [/\bbe it\b/i, "if, or"],
  [/\bforesees?\b/i, "expect"],
  [/\b(?:some|any)body\b/i, "the caller"],
  [/\bset(?:s|ting)? aside\b/i, "back off"],
  [/\bputs? out\b|\bputting out\b/i, "deregister"],
  [/\bjudge[sd]?\b|\bjudging\b/i, "authorize"],
  [/\b(?:MOST|LEAST|FEWEST)_/, "MAX_, MIN_"],
  [/\bown paths?\b/i, "built-in route"],
  [/\bforeign (?:services?|pages?)\b/i, "external service, cross-origin page"],
  [/\bsigned contexts?\b/i, "caller assertion"],
];

/** Words that comments, titles and identifiers of the code no longer use, by what they are now. */
const OLD_NAMES: readonly (readonly [word: RegExp, now: string])[] = [
  [/\bdoors?\b/i, "gateway"],
  [/\banswer(?:s|ed|ing)?\b/i, "response, respond"],
  [/\btickets?\b/i, "delegation token"],
  [/\bpieces?\b/i, "chunk"],
];
const OLD_IDENTIFIERS =
  /(?:^|[a-z_])(?:[Dd]oor|DOOR|[Aa]nswer|ANSWER|[Pp]iece|[Ff]oreign|[Pp]owers|[Jj]udge|[Pp]utOut|[Ss]etAside|[Bb]ell|[Tt]rash)s?(?![a-z])/;

/** Places where such a word is right, with the reason. */
const EXCEPTIONS: readonly (readonly [file: RegExp, text: RegExp, reason: string])[] = [
  [/^gateway\/node\/tls\.ts$/, /session tickets/, "TLS's term (RFC 8446 §4.6.1)"],
  [/^test\/.*(?:tickets|tutorial)/, /ticket/, "the tutorial's service"],
  [/^src\/client\/options\.ts$/, /answersBytes/, "promised to generated clients"],
  [/^test\/layout\/words\.test\.ts$/, /./, "has these words as data"],
];

interface Line {
  readonly file: string;
  readonly number: number;
  readonly text: string;
}

function filesOf(roots: readonly string[], kind: RegExp): string[] {
  return roots.flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: "utf8" })
      .map((name) => join(root, name))
      .filter((file) => kind.test(file) && !/(?:^|\/)(?:gen|node_modules|target)\//.test(file)),
  );
}

const linesOf = (file: string): Line[] => {
  const text = readFileSync(file, "utf8");
  if (text.startsWith("// Generated")) return [];
  return text.split("\n").map((line, at) => ({ file, number: at + 1, text: line }));
};

const COMMENT = /^\s*(?:\/\*\*?|\*|\/\/)/;
/** The prose of a line of code: a comment, also behind code, or the title of a test. */
function proseOf(line: string): string {
  if (COMMENT.test(line)) return line;
  const behind = /(?:^|\s)\/\/ (.*)$/.exec(line)?.[1] ?? "";
  const title = /\.test\(\s*(["'`])(.*?)\1/.exec(line)?.[2] ?? "";
  return `${behind} ${title}`.trim();
}

const isException = ({ file, text }: Line): boolean =>
  EXCEPTIONS.some(([where, what]) => where.test(file) && what.test(text));

/** What is wrong with a line of code, in words. */
function problemsOf(line: Line): string[] {
  const { file, number, text } = line;
  const prose = proseOf(text);
  const problems = COMMENT.test(text) && text.length > MAX_COLUMNS ? [`${text.length} columns`] : [];
  if (!isException(line)) {
    for (const [word, instead] of [...PHRASES, ...OLD_NAMES]) {
      const found = word.exec(prose)?.[0];
      if (found !== undefined) problems.push(`"${found}": ${instead}`);
    }
  }
  return problems.map((problem) => `${file}:${number}: ${problem}`);
}

const code = filesOf(["src", "gateway", "services", "cli", "scripts", "bench", "test"], /\.(?:tsx?|mjs)$/);

t.test("comments and titles of tests are plain", async (t) => {
  t.same(code.flatMap(linesOf).flatMap(problemsOf), []);
  for (const [text, problem] of [
    ["// The size is that of the body.", '"that of": the noun'],
    ["  const door = 1; // What the door is told.", '"door": gateway'],
    ['t.test("a piece is read", async', '"piece": chunk'],
    [`// ${"x".repeat(MAX_COLUMNS)}`, `${MAX_COLUMNS + 3} columns`],
  ] as const) {
    t.same(problemsOf({ file: "a.ts", number: 1, text }), [`a.ts:1: ${problem}`], "one would be seen");
  }
});

t.test("no identifier has an old name", async (t) => {
  const declared = /\b(?:const|let|function|class|interface|type|enum|readonly|get)\s+#?(\w+)|^\s+#?(\w+)[(:?]/g;
  const old = (text: string): string[] =>
    [...text.matchAll(declared)]
      .map(([, name, member]) => name ?? member ?? "")
      .filter((name) => OLD_IDENTIFIERS.test(name));
  const product = code.filter((file) => /^(?:src|gateway|services|cli)\//.test(file));
  t.same(
    product
      .flatMap(linesOf)
      .flatMap((line) =>
        isException(line) ? [] : old(line.text).map((name) => `${line.file}:${line.number}: ${name}`),
      ),
    [],
  );
  t.same(old("const openDoor = 1; readonly pieces: number"), ["openDoor", "pieces"], "one would be seen");
});

const pages = filesOf(["docs"], /^docs\/[^/]+\.md$/);
const howItWorks = readFileSync("docs/how-it-works.md", "utf8");

t.test("the glossary has at most 40 terms, in order, and code or pages use each", async (t) => {
  const [glossary = ""] = (howItWorks.split("## Glossary")[1] ?? "").split("### Old names");
  const terms = [...glossary.matchAll(/^\| \*\*(.+?)\*\* \|/gm)].map(([, term = ""]) => term);
  t.ok(terms.length > 20 && terms.length <= MAX_TERMS, `${terms.length} terms`);
  t.same(
    terms,
    [...terms].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)),
  );
  const used = [...code, ...pages].map((file) => readFileSync(file, "utf8").replace(glossary, "")).join("\n");
  t.same(
    terms.filter((term) => !new RegExp(term.replace(/[ -]/g, "[ -]?"), "i").test(used)),
    [],
  );
});

t.test("a page of the documentation says at its top who reads it, and the question it answers", async (t) => {
  const TOP = /^# .+\n\n(?:<!-- .*? -->\n\n)?For [^?]*?\. The question: [^?]+\?/;
  t.same(
    pages.filter((file) => file !== "docs/README.md" && !TOP.test(readFileSync(file, "utf8"))),
    [],
  );
});
