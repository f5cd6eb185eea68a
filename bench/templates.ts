/**
 * Measures how long it takes to find the template that matches a path, among 10 to 10,000
 * templates, and to add and remove all of them: `node --import tsx bench/templates.ts`.
 * docs/performance.md states the results.
 */
import { PathTrie, type TemplateEntry } from "../gateway/catalog/path-trie.js";
import { parsePathTemplate } from "../src/contract/path-template.js";

const SIZES = [10, 100, 1_000, 10_000];
const LOOKUPS = 400_000;
const ROUNDS = 5;

/** Templates as in Google's APIs: six for each resource, in a hundred services. */
function entries(count: number): TemplateEntry[] {
  return Array.from({ length: count }, (_, index) => {
    const resource = Math.floor(index / 6);
    const base = `/v1/{name=service${resource % 100}/*/things${resource}/*}`;
    const texts = [
      base,
      `${base}:move`,
      `${base}/parts/{part}`,
      `${base}/parts`,
      `${base}:list`,
      `${base}/files/{file=**}`,
    ];
    return { httpMethod: "GET", template: parsePathTemplate(texts[index % 6] as string) };
  });
}

/** A matching path for each template. */
function pathsOf(all: readonly TemplateEntry[]): string[] {
  return all.map(({ template: { segments, verb } }, index) => {
    const parts = segments.map((segment) => (typeof segment === "string" ? segment : `value-${index}`));
    return `/${parts.join("/")}${verb === "" ? "" : `:${verb}`}`;
  });
}

function microseconds(count: number, act: () => void): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    act();
    return ((performance.now() - start) * 1_000) / count;
  });
  return Math.min(...times);
}

for (const size of SIZES) {
  const all = entries(size);
  const paths = pathsOf(all);
  const trie = new PathTrie<TemplateEntry>(() => false);
  const add = microseconds(size, () => {
    for (const entry of all) trie.delete(entry);
    for (const entry of all) trie.add(entry);
  });
  let found = 0;
  const same = microseconds(LOOKUPS, () => {
    for (let index = 0; index < LOOKUPS; index++)
      trie.find("GET", paths[(index % 10) * Math.floor(size / 10)] as string);
  });
  const hit = microseconds(LOOKUPS, () => {
    for (let index = 0; index < LOOKUPS; index++) if (trie.find("GET", paths[index % size] as string)) found++;
  });
  const miss = microseconds(LOOKUPS, () => {
    for (let index = 0; index < LOOKUPS; index++) if (trie.find("PUT", paths[index % size] as string)) found++;
  });
  if (found !== LOOKUPS * ROUNDS) throw new Error(`${found} were found`);
  const [shownSame, shownHit, shownMiss, shownAdd] = [same, hit, miss, add].map((time) => time.toFixed(2));
  console.log(
    `${size} templates: ${shownSame} µs a lookup of ten paths, ${shownHit} µs of all, ${shownMiss} µs without a match, ` +
      `${shownAdd} µs to add and remove one`,
  );
}
