// HTTP rules of a service configuration: what is read, what is refused, and what they select.
import t from "tap";
import { applyHttpRules } from "../../../services/registry/apply-http-rules.js";
import { MAX_DESCRIPTORS, readContract } from "../../../services/registry/contract.js";
import { HttpRulesError, readHttpRules, readResolvedRules } from "../../../services/registry/http-rules.js";
import { problemsOf } from "../../../services/registry/shared-names.js";
import { bindingsOf } from "../../../src/contract/http-rule.js";
import { buildAnnotated } from "../../support/descriptors.js";

const KIB = 1024;
const descriptors = buildAnnotated("test/gateway/dialects/http-rule", "library.proto");
const LIBRARY = { descriptors, grpcServices: ["library.Library"] };

/** The bindings of each method, such as `GET /v1/{name}`, and the problems, with these rules. */
async function applied(text: string, grpcServices = LIBRARY.grpcServices) {
  const rules = await readHttpRules(text);
  const { descriptors, problems } = applyHttpRules({ ...LIBRARY, grpcServices }, rules);
  const contract = readContract("library", descriptors, grpcServices);
  const paths = contract.endpoints.map(({ method }): [string, string[]] => [
    method.name,
    bindingsOf(method).bindings.map(({ httpMethod, template, body, responseBody }) =>
      [httpMethod, template.text, typeof body === "object" ? body.name : body, responseBody?.name]
        .filter((part) => part !== undefined)
        .join(" "),
    ),
  ]);
  return { paths: Object.fromEntries(paths), problems: [...problems, ...problemsOf(contract, "")] };
}

const before = await applied("");
const rulesOf = (...rules: object[]): string => JSON.stringify({ http: { rules } });

t.test("a service configuration in YAML replaces the annotations of the methods that it selects", async (t) => {
  const { paths, problems } = await applied(`
type: google.api.Service
config_version: 3
name: library.example
apis:
- name: library.Library
documentation: {summary: Shelves.}
http:
  fully_decode_reserved_expansion: true
  rules:
  - selector: library.Library.Get
    get: /v2/{name=shelves/*}
    additional_bindings:
    - post: /v2/{name=shelves/*}:get
      body: "*"
    - custom: {kind: PURGE, path: "/v2/{name=shelves/*}"}
  - selector: library.Library.Put
    patch: /v2/{name}
    body: book
    response_body: book
`);
  t.same(paths.Get, ["GET /v2/{name=shelves/*}", "POST /v2/{name=shelves/*}:get *", "PURGE /v2/{name=shelves/*}"]);
  t.same(paths.Put, ["PATCH /v2/{name} book book"]);
  const { Get: _get, Put: _put, ...others } = paths;
  const { Get: _getBefore, Put: _putBefore, ...othersBefore } = before.paths;
  t.same(others, othersBefore, "other methods have their annotations");
  t.same(problems, before.problems);
});

t.test("JSON is read, too, with the names of either form", async (t) => {
  const additionalBindings = [{ put: "/a/{name}", responseBody: "book" }];
  const { paths } = await applied(rulesOf({ selector: "library.Library.Get", delete: "/a", additionalBindings }));
  t.same(paths.Get, ["DELETE /a", "PUT /a/{name} book"]);
});

const SELECTORS: [selectors: string[], selected: string][] = [
  [["library.Library.Get"], "/0"],
  [["library.Library.*"], "/0"],
  [["library.*"], "/0"],
  [["*"], "/0"],
  [["other.A.B, library.Library.Get"], "/0"],
  [["library.Library.Get", "library.Library.Get"], "/1"],
  [["library.Library.Get", "*"], "/1"],
  [["*", "library.Library.Get"], "/1"],
  [["library.Library.Get", "library.Library.Put"], "/0"],
  [["library.Library"], "none"],
  [["library.Library.Get.*"], "none"],
  [["library.Library.get"], "none"],
  [["Library.Get"], "none"],
];

for (const [selectors, selected] of SELECTORS) {
  t.test(`of the rules ${selectors.join(" and ")}, Get has ${selected}`, async (t) => {
    const { paths } = await applied(rulesOf(...selectors.map((selector, index) => ({ selector, get: `/${index}` }))));
    t.same(paths.Get, selected === "none" ? before.paths.Get : [`GET ${selected}`]);
  });
}

t.test("selectors that select no method are one problem", async (t) => {
  const names = Array.from({ length: 7 }, (_, index) => `google.longrunning.Operations.Op${index}`);
  const { problems } = await applied(rulesOf(...names.map((selector) => ({ selector, get: "/a" }))));
  const first = names.slice(0, 5).join(", ");
  t.match(problems, [`httpRules select no method by ${first} and 2 more`]);
});

t.test("a rule selects only methods of the gRPC services that are served", async (t) => {
  const { problems } = await applied(rulesOf({ selector: "library.Everything.Take", get: "/a" }));
  t.match(problems, ["httpRules select no method by library.Everything.Take"]);
});

const WRONG: [what: string, rule: object, problem: RegExp][] = [
  ["a malformed path", { get: "/a/{name" }, /^library:Library.Get: the template "\/a\/{name" has a { without }/],
  ["a path of a field that does not exist", { get: "/a/{nam}" }, /has no field nam; httpRules give it no path/],
  ["a method that is none", { custom: { kind: "GE T", path: "/a" } }, /the custom method "GE T" is no method of HTTP/],
  ["a body that is no field", { post: "/a", body: "nowhere" }, /has no field nowhere/],
];

for (const [what, rule, problem] of WRONG) {
  t.test(`a rule with ${what} is a problem, and no part of it is applied`, async (t) => {
    const additionalBindings = [{ get: "/good" }];
    for (const whole of [
      { ...rule, additionalBindings },
      { get: "/good", additionalBindings: [rule] },
    ]) {
      const { paths, problems } = await applied(rulesOf({ selector: "library.Library.Get", ...whole }));
      t.same(paths.Get, []);
      t.match(problems[0], problem);
    }
  });
}

const rule = (members: object): string => rulesOf({ selector: "a.B.C", ...members });
const many = (text: string, size = 250 * KIB): string => text.repeat(Math.floor(size / text.length));

const REFUSED: [what: string, text: string, message: RegExp][] = [
  ["no YAML", "http: [\n  a: {", /^httpRules is no YAML: .+ in line 2$/],
  ["two documents", "http: {rules: []}\n---\na: 1", /^httpRules is no YAML: expected a single document/],
  ["binary data", "\0\u0001\u0002", /^httpRules is no YAML: /],
  ["nothing", "# empty", /^httpRules is no YAML: /],
  ["a text", "hello", /^httpRules is no service configuration: it must have http with rules$/],
  ["a list", "- http", /is no service configuration/],
  ["another type", "type: google.api.Other\nhttp: {rules: []}", /must have the type google.api.Service, not "google/],
  ["no http", "name: a", /^httpRules http must be an object$/],
  ["rules that are no list", "http: {rules: {}}", /http.rules must be a list/],
  ["a rule that is none", "http: {rules: [a]}", /^httpRules http.rules\[0\] must be an object$/],
  ["an unknown member of http", "http: {rule: []}", /^httpRules http has the unknown member "rule"; known are rules,/],
  ["a rule without a selector", rulesOf({ get: "/a" }), /^httpRules http.rules\[0\].selector must be a text$/],
  ["a selector of a part of a name", rulesOf({ selector: "a.b*", get: "/a" }), /the selector "a.b\*" must be the full/],
  ["a wildcard within a selector", rulesOf({ selector: "a.*.b", get: "/a" }), /the selector "a.\*.b" must be/],
  [
    "a rule without a path",
    rule({ body: "*" }),
    /http.rules\[0\] must have one of get, put, post, delete, patch, custom/,
  ],
  ["a rule with two paths", rule({ get: "/a", put: "/b" }), /http.rules\[0\] must have one of get/],
  ["a misspelt member", rule({ get: "/a", bodi: "*" }), /http.rules\[0\] has the unknown member "bodi"; known are/],
  ["a member in both forms", rule({ get: "/a", response_body: "a", responseBody: "b" }), /has responseBody twice/],
  ["a path that is no text", rule({ get: 7 }), /http.rules\[0\].get must be a text/],
  ["a custom path that is no text", rule({ custom: { kind: "HEAD", path: [] } }), /custom.path must be a text/],
  [
    "bindings of additional bindings",
    rule({ get: "/a", additional_bindings: [{ get: "/b", additional_bindings: [] }] }),
    /http.rules\[0\].additional_bindings\[0\] has the unknown member "additional_bindings"/,
  ],
  ["__proto__", `{"http":{"__proto__":{"rules":[]}}}`, /http has the unknown member "__proto__"/],
  ["more than 256 KiB", " ".repeat(256 * KIB + 1), /^httpRules has more than 256 KiB$/],
  ["10 MB", many("- a\n", 10 * KIB * KIB), /has more than 256 KiB/],
  ["deep nesting", many("["), /^httpRules is no YAML: nesting exceeded/],
  ["deep nesting of blocks", many("- "), /^httpRules is no YAML: nesting exceeded/],
  ["deep nesting of JSON", many('{"http":'), /^httpRules is no YAML: /],
  ["deep nesting of JSON that is complete", `${'{"http":'.repeat(20_000)}1${"}".repeat(20_000)}`, /unknown member/],
  [
    "an alias for many large texts",
    `x: &x {selector: a.B.C, get: "/${"a".repeat(1_000)}"}\nhttp:\n  rules:\n${many("  - *x\n", 8_000)}`,
    /has more than 512 KiB with its aliases resolved/,
  ],
  [
    "an alias for many bindings",
    `x: &x [${many("{get: /},", 9_000)}]\nhttp:\n  rules:\n${many("  - {selector: a, get: /, additional_bindings: *x}\n", 9_000)}`,
    /has more than 10000 bindings/,
  ],
];

for (const [what, text, message] of REFUSED) {
  t.test(`${what} is refused in one line`, async (t) => {
    const started = performance.now();
    const error: Error = await readHttpRules(text).then(
      () => t.fail("it was read"),
      (thrown) => thrown,
    );
    t.ok(error instanceof HttpRulesError);
    t.match(error.message, message);
    t.notMatch(error.message, /\n/);
    t.ok(error.message.length < 300, error.message);
    t.ok(performance.now() - started < 10_000, "in a short time");
  });
}

t.test("aliases that multiply outside of the rules cost nothing", async (t) => {
  const levels = Array.from({ length: 60 }, (_, level) => `a${level + 1}: &a${level + 1} [${many(`*a${level},`, 50)}]`);
  const text = `a0: &a0 [x]\n${levels.join("\n")}\nhttp: {rules: [{selector: library.Library.Get, get: /a}]}`;
  t.same((await applied(text)).paths.Get, ["GET /a"]);
});

t.test("gateways read the same rules from JSON", async (t) => {
  const yaml = "http: {rules: [{selector: library.Library.Get, get: /a, additional_bindings: [{put: /b, body: '*'}]}]}";
  const rules = await readHttpRules(yaml);
  t.same(readResolvedRules(rules.json), rules);
  t.same(applyHttpRules(LIBRARY, readResolvedRules(rules.json)), applyHttpRules(LIBRARY, rules));
  t.same(applyHttpRules(LIBRARY, readResolvedRules("")), { descriptors, problems: [] });
});

t.test("descriptors and rules must fit into one message", async (t) => {
  const large = Buffer.concat([descriptors, Buffer.from([0x7a, 0xa0, 0x8d, 0x06]), Buffer.alloc(100_000)]);
  const rules = await readHttpRules(rulesOf({ selector: "*", get: `/${"a".repeat(200_000)}` }));
  t.ok(large.length < MAX_DESCRIPTORS);
  const contract = { ...LIBRARY, descriptors: Buffer.concat(Array(20).fill(large)) };
  t.throws(
    () => applyHttpRules(contract, rules),
    /^descriptors and httpRules are \d+ bytes; at most \d+ are accepted$/,
  );
});
