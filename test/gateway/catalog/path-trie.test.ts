// Which template a path matches. Each table is a set of templates, with paths and their matches.
// The same behaviour is tested in grpc-gateway (runtime/pattern_test), Envoy's transcoding library
// (path_matcher_test) and Vanguard (router_test).

import t from "tap";
import { PathTrie, type TemplateEntry } from "../../../gateway/catalog/path-trie.js";
import { parsePathTemplate, valuesOf } from "../../../src/contract/path-template.js";
import { fc } from "../../support/properties.js";

function entryOf(text: string, httpMethod = "GET"): TemplateEntry {
  return { template: parsePathTemplate(text), httpMethod };
}

function trieOf(templates: Iterable<string>): PathTrie<TemplateEntry> {
  const trie = new PathTrie<TemplateEntry>(() => false);
  for (const text of templates) trie.add(entryOf(text));
  return trie;
}

interface Table {
  readonly templates: readonly string[];
  /**
   * The template that a path matches, with the values of the variables; undefined if no template
   * matches.
   */
  readonly paths: Readonly<Record<string, readonly [template: string, ...values: string[]] | undefined>>;
}

const TABLES: Readonly<Record<string, Table>> = {
  "a literal is tried before *, and * before **": {
    templates: ["/a/**", "/b/*", "/c/*/d/**", "/c/*/d/e", "/c/f/d/e"],
    paths: {
      "/a/b": ["/a/**"],
      "/a/b/c": ["/a/**"],
      "/a": ["/a/**"],
      "/b/c": ["/b/*"],
      "b/c": undefined,
      "/c/u/d/v": ["/c/*/d/**"],
      "/c/v/d/w/x": ["/c/*/d/**"],
      "/c/x/y/d/z": undefined,
      "/c//v/d/w/x": undefined,
      "/c//d/e": undefined,
      "/c/x/d/e": ["/c/*/d/e"],
      "/c/f/d/e": ["/c/f/d/e"],
    },
  },
  "if the more specific path does not match, the others are tried": {
    templates: ["/a/b/c", "/a/*/d", "/{x=**}/e", "/a/b/**"],
    paths: {
      "/a/b/c": ["/a/b/c"],
      "/a/b/d": ["/a/b/**"],
      "/a/x/d": ["/a/*/d"],
      "/a/x/e": ["/{x=**}/e", "a/x"],
      "/a/x": undefined,
    },
  },
  "** alone matches each path": {
    templates: ["/**"],
    paths: { "/": ["/**"], "/a": ["/**"], "/a/": ["/**"], "/a/b": ["/**"] },
  },
  "variables get the values of their segments": {
    templates: [
      "/a/{x}/c/d/e",
      "/{x=a/*}/b/{y=*}/c",
      "/a/{x=b/*}/{y=d/**}",
      "/alpha/{x=*}/beta/{y=**}/gamma",
      "/{x=*}/a",
      "/{x=**}/a/b",
      "/a/b/{x=*}",
      "/a/b/c/{x=**}",
      "/{x=*}/d/e/f/{y=**}",
    ],
    paths: {
      "/a/book/c/d/e": ["/a/{x}/c/d/e", "book"],
      "/a/hello/b/world/c": ["/{x=a/*}/b/{y=*}/c", "a/hello", "world"],
      "/a/b/zoo/d/animal/tiger": ["/a/{x=b/*}/{y=d/**}", "b/zoo", "d/animal/tiger"],
      "/alpha/dog/beta/eat/bones/gamma": ["/alpha/{x=*}/beta/{y=**}/gamma", "dog", "eat/bones"],
      "/foo/a": ["/{x=*}/a", "foo"],
      "/foo/bar/a/b": ["/{x=**}/a/b", "foo/bar"],
      "/a/b/foo": ["/a/b/{x=*}", "foo"],
      "/a/b/c/foo/bar/baz": ["/a/b/c/{x=**}", "foo/bar/baz"],
      "/foo/d/e/f/bar/baz": ["/{x=*}/d/e/f/{y=**}", "foo", "bar/baz"],
    },
  },
  "a colon begins a verb only if a template has the verb": {
    templates: ["/person", "/person/{id=*}", "/{x=**}:verb"],
    paths: {
      "/person:verb": ["/{x=**}:verb", "person"],
      "/person/jason:verb": ["/{x=**}:verb", "person/jason"],
      "/animal/cat:verb": ["/{x=**}:verb", "animal/cat"],
      "/person": ["/person"],
      "/person/jason": ["/person/{id=*}", "jason"],
      "/animal": undefined,
      "/person:other": undefined,
      "/person/jason:other": ["/person/{id=*}", "jason:other"],
      "/animal/cat:other": undefined,
      "/person/jason%3Averb": ["/person/{id=*}", "jason:verb"],
    },
  },
  "if no template with the verb matches, the colon is part of the segment": {
    templates: ["/animal/*:verb", "/person/{id}"],
    paths: { "/person/jason:verb": ["/person/{id}", "jason:verb"], "/animal/cat": undefined },
  },
  "a template may have a verb and wildcards": {
    templates: ["/some/const:verb", "/some/*:verb", "/some/*/foo:verb", "/other/**:verb", "/other/**/const:verb"],
    paths: {
      "/some/const:verb": ["/some/const:verb"],
      "/some/other:verb": ["/some/*:verb"],
      "/some/other:verb/": undefined,
      "/some/bar/foo:verb": ["/some/*/foo:verb"],
      "/some/foo1/foo2/foo:verb": undefined,
      "/some/foo/bar:verb": undefined,
      "/other/bar/foo:verb": ["/other/**:verb"],
      "/other/bar/foo/const:verb": ["/other/**/const:verb"],
    },
  },
  "only the last segment has a verb": {
    templates: ["/{a=*}/{b=*}:verb", "/foo/*/hello"],
    paths: {
      "/some:verb/const:verb": ["/{a=*}/{b=*}:verb", "some:verb", "const"],
      "/foo/other:verb/hello": ["/foo/*/hello"],
    },
  },
  "a verb may have colons": {
    templates: ["/v1/a/{endpoint}:b:c", "/v1/a/{endpoint}:c"],
    paths: {
      "/v1/a/x:b:c": ["/v1/a/{endpoint}:b:c", "x"],
      "/v1/a/x:c": ["/v1/a/{endpoint}:c", "x"],
      "/v1/a/x:y:c": ["/v1/a/{endpoint}:c", "x:y"],
    },
  },
  "more literals after ** are more specific": {
    templates: [
      "/a/{x=b/**}",
      "/a/{x=b/**}/z",
      "/a/{x=b/**}/y/z",
      "/a/{x=b/**}:verb",
      "/a/{x=**}",
      "/c/{x=*}/{y=d/**}/e",
      "/c/{x=*}/{y=d/**}/e:verb",
      "/a/{x=b/*/y/z/**}/foo",
      "/a/{x=b/*/**/y/z}/foo",
    ],
    paths: {
      "/a/b/hello/world/c": ["/a/{x=b/**}", "b/hello/world/c"],
      "/a/b/world/c/z": ["/a/{x=b/**}/z", "b/world/c"],
      "/a/b/world/c/y/z": ["/a/{x=b/**}/y/z", "b/world/c"],
      "/a/b/world/c:verb": ["/a/{x=b/**}:verb", "b/world/c"],
      "/a/hello/b/world/c": ["/a/{x=**}", "hello/b/world/c"],
      "/c/hello/d/esp/world/e": ["/c/{x=*}/{y=d/**}/e", "hello", "d/esp/world"],
      "/c/hola/d/esp/mundo/e:verb": ["/c/{x=*}/{y=d/**}/e:verb", "hola", "d/esp/mundo"],
      "/a/b/foo/y/z/bar/baz/foo": ["/a/{x=b/*/y/z/**}/foo", "b/foo/y/z/bar/baz"],
      "/a/b/foo/bar/baz/y/z/foo": ["/a/{x=b/*/**/y/z}/foo", "b/foo/bar/baz/y/z"],
    },
  },
  "a * may follow **": {
    templates: ["/v1/{parent=documents/**}/{id}", "/v1/{parent=documents/**}/special", "/v1/documents/**/{a}/{b}/end"],
    paths: {
      "/v1/documents/a/b/c": ["/v1/{parent=documents/**}/{id}", "documents/a/b", "c"],
      "/v1/documents/c": ["/v1/{parent=documents/**}/{id}", "documents", "c"],
      "/v1/documents": undefined,
      "/v1/documents/a/": undefined,
      "/v1/documents/a/special": ["/v1/{parent=documents/**}/special", "documents/a"],
      "/v1/documents/x/y/end": ["/v1/documents/**/{a}/{b}/end", "x", "y"],
      "/v1/documents/y/end": ["/v1/{parent=documents/**}/{id}", "documents/y", "end"],
    },
  },
  "literals after ** need segments of their own": {
    templates: ["/**/tail", "/x/**/x"],
    paths: {
      "/tail": ["/**/tail"],
      "/abc/def/tail": ["/**/tail"],
      "/tail/extra": undefined,
      "/x": undefined,
      "/x/x": ["/x/**/x"],
    },
  },
  "a template does not match longer or shorter paths": {
    templates: ["/prefix/middle/suffix", "/prefix/middle", "/v2/{b=b/*}/o/{oname}"],
    paths: {
      "/prefix/middle/suffix": ["/prefix/middle/suffix"],
      "/prefix/middle": ["/prefix/middle"],
      "/prefix": undefined,
      "/prefix/middle/suffix/other": undefined,
      "/prefix/middle/": undefined,
      "/v2/b/my-bucket/o/obj": ["/v2/{b=b/*}/o/{oname}", "b/my-bucket", "obj"],
      "/v2/b/my-bucket/o": undefined,
      "/v2/b/my-bucket/o/": undefined,
    },
  },
  "literals are compared decoded, and case matters": {
    templates: ["/foo%2Fbar/%2A/{starstar=%2A%2a/**}:%2c", "/Shelves", "/%E7%AC%AC"],
    paths: {
      "/foo%2fbar/*/%2A%2A/x:,": ["/foo%2Fbar/%2A/{starstar=%2A%2a/**}:%2c", "**/x"],
      "/foo/bar/*/**/x:,": undefined,
      "/shelves": undefined,
      "/Shelves": ["/Shelves"],
      "/S%68elves": ["/Shelves"],
      "/%e7%ac%ac": ["/%E7%AC%AC"],
      "/%ff": undefined,
    },
  },
  "nothing matches without a template": {
    templates: [],
    paths: { "/a/b/blue/foo": undefined, "/": undefined },
  },
};

for (const [title, { templates, paths }] of Object.entries(TABLES)) {
  t.test(title, async (t) => {
    for (const order of [templates, templates.toReversed()]) {
      const trie = trieOf(order);
      for (const [path, expected] of Object.entries(paths)) {
        const match = trie.find("GET", path);
        const found = match && [match.entry.template.text, ...(valuesOf(match.entry.template, match.parts) ?? ["?"])];
        t.strictSame(found, expected, path);
      }
    }
  });
}

t.test("the method must match, too", async (t) => {
  const trie = new PathTrie<TemplateEntry>(() => false);
  const special = entryOf("/shelves/special", "POST");
  const any = entryOf("/shelves/{id}", "*");
  const get = entryOf("/shelves/{id}", "GET");
  for (const entry of [special, any, get]) trie.add(entry);
  t.equal(trie.find("POST", "/shelves/special")?.entry, special);
  t.equal(
    trie.find("GET", "/shelves/special")?.entry,
    get,
    "a literal without the method does not hide a template with it",
  );
  t.equal(trie.find("PURGE", "/shelves/1")?.entry, any, "a binding of all methods takes what no other takes");
  t.equal(trie.find("POST", "/shelves"), undefined);
  t.strictSame([...trie.methodsOf("/shelves/special")].sort(), ["*", "GET", "POST"]);
  t.equal(trie.methodsOf("/other").size, 0);
});

t.test(
  "among entries of one method and shape the first in order is found, and the next after its removal",
  async (t) => {
    const trie = new PathTrie<TemplateEntry & { readonly rank: number }>((one, other) => one.rank < other.rank);
    const second = { ...entryOf("/a/{x}"), rank: 2 };
    const first = { ...entryOf("/a/{y=*}"), rank: 1 };
    t.strictSame(trie.add(second), [second]);
    t.strictSame(trie.add(first), [first, second], "whoever adds an entry sees the others");
    t.equal(trie.find("GET", "/a/1")?.entry, first);
    trie.delete(first);
    t.equal(trie.find("GET", "/a/1")?.entry, second);
  },
);

t.test("deleted entries leave nothing behind", async (t) => {
  const templates = Object.values(TABLES).flatMap(({ templates }) => templates);
  const entries = templates.map((text) => entryOf(text));
  const trie = new PathTrie<TemplateEntry>(() => false);
  for (const entry of entries) trie.add(entry);
  for (const entry of entries) trie.delete(entry);
  trie.delete(entries[0] as TemplateEntry);
  t.ok(trie.isEmpty);
  t.equal(trie.find("GET", "/person:verb"), undefined);
});

t.test("a path that is too long or has too many segments matches nothing", async (t) => {
  const trie = trieOf(["/{x=**}"]);
  t.ok(trie.find("GET", `/${"a".repeat(8191)}`));
  t.equal(trie.find("GET", `/${"a".repeat(8192)}`), undefined);
  t.ok(trie.find("GET", "/a".repeat(256)));
  t.equal(trie.find("GET", "/a".repeat(257)), undefined);
});

t.test("the order in which templates are added makes no difference", async (t) => {
  const segments = fc.array(fc.constantFrom("a", "b", "*"), { maxLength: 3 });
  const rest = fc.option(fc.array(fc.constantFrom("a", "b", "*"), { maxLength: 2 }), { nil: undefined });
  const template = fc
    .tuple(segments, rest, fc.constantFrom("", ":v"))
    .map(([first, last, verb]) => `/${[...first, ...(last === undefined ? [] : ["**", ...last])].join("/")}${verb}`)
    .filter((text) => !/^\/(?::v)?$/.test(text));
  const path = fc
    .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 5 })
    .chain((parts) => fc.constantFrom(`/${parts.join("/")}`, `/${parts.join("/")}:v`));
  const property = fc.property(fc.uniqueArray(template, { maxLength: 12 }), path, (templates, path) => {
    const one = trieOf(templates).find("GET", path)?.entry.template.text;
    const other = trieOf(templates.toReversed()).find("GET", path)?.entry.template.text;
    return one === other;
  });
  t.equal(fc.check(property).counterexample, null);
});

t.test("a path without a match costs no more with 8,192 templates than with few", async (t) => {
  const product = (places: number): string[] =>
    places === 0 ? ["/end"] : product(places - 1).flatMap((rest) => [`/a${rest}`, `/*${rest}`]);
  const trie = trieOf(product(13));
  const time = (): number => {
    const start = performance.now();
    for (let round = 0; round < 50; round++) trie.find("GET", `/${"a/".repeat(13)}other`);
    return (performance.now() - start) / 50;
  };
  time();
  const best = Math.min(...Array.from({ length: 5 }, time));
  t.equal(trie.find("GET", `/${"a/".repeat(13)}other`), undefined);
  t.ok(best < 1, `${best} ms`);
});
