// The rules in docs/rules.md give the decisions that the page shows for every example.
import { readFileSync } from "node:fs";
import t from "tap";
import { Access, checkRule, type Rule, RuleSet } from "../../src/access/decide/rules.js";
import type { Decision } from "../../src/call/admission.js";
import type { Resource } from "../../src/contract/resource.js";
import { replay } from "../scenarios/transcript.js";
import { installation } from "../support/installation.js";
import { start } from "../support/process.js";
import { tablesOf } from "./markdown.js";

const page = readFileSync("docs/rules.md", "utf8");
const tables = tablesOf(page);
const CODE: Record<Decision, string> = { granted: "200", unauthorized: "401", forbidden: "403" };

/** The scopes of each caller; undefined for an unauthenticated caller. */
const scopesOf = new Map(
  tables
    .filter(({ header }) => header[0] === "caller" && header.length === 2)
    .flatMap(({ rows }) => rows)
    .map(([caller = "", scopes = ""]) => [
      caller,
      caller === "anonymous" ? undefined : (scopes.match(/[a-z]+/g) ?? []),
    ]),
);
t.same([...scopesOf.keys()], ["anonymous", "ann", "bob", "eve"]);

function resourceOf(endpoint: string): Resource {
  const [name = "", method = ""] = endpoint.toLowerCase().split(":");
  return { type: "service", name, endpoint: method };
}

/** The rules in the last table above a line, in the format of `portico auth list rules`. */
function rulesAbove(line: number): Rule[] {
  const lines = page.split("\n").slice(0, line);
  const header = lines.findLastIndex((text) => /^ {4}ID +Scope +Access/.test(text));
  const end = lines.indexOf("", header);
  return lines.slice(header + 1, end).map((text) => {
    const [id = "", scope = "", access, resource = "", priority] = text.trim().split(/ {2,}/);
    return checkRule({
      id,
      scope,
      access: access === "GRANTED" ? Access.GRANTED : Access.DENIED,
      resource,
      priority: Number(priority),
      disabled: false,
    });
  });
}

const examples = tables.filter(({ header }) => header.join() === "caller,calls,response,by");
t.ok(examples.length >= 9, `${examples.length} examples`);
for (const { heading, line, rows } of examples) {
  const rules = RuleSet.compile(rulesAbove(line));
  for (const [caller = "", endpoint = "", response, by] of rows) {
    t.ok(scopesOf.has(caller), `${caller} is a caller`);
    const { decision, decidedBy } = rules.explain(resourceOf(endpoint), scopesOf.get(caller));
    t.same([CODE[decision], decidedBy?.id ?? "no rule"], [response, by], `${heading}: ${caller} calls ${endpoint}`);
  }
}

t.test("the rules of an example are in the order in which they are evaluated", async (t) => {
  for (const { heading, line } of examples) {
    const rules = rulesAbove(line);
    const weight = ({ priority, access }: Rule) => priority * 2 + (access === Access.DENIED ? 1 : 0);
    t.same(
      rules,
      rules.toSorted((a, b) => weight(b) - weight(a)),
      heading,
    );
  }
});

t.test("each pattern on the page matches the resources that the page names", async (t) => {
  const patterns = tables.find(({ header }) => header[0] === "resource of a rule")?.rows ?? [];
  t.ok(patterns.length >= 6, `${patterns.length} patterns`);
  for (const [pattern = "", covered = "", others = ""] of patterns) {
    const resource = pattern.replaceAll("`", "");
    const rule = checkRule({
      id: "r",
      scope: "<public>",
      access: Access.GRANTED,
      resource,
      priority: 0,
      disabled: false,
    });
    const rules = RuleSet.compile([rule]);
    const decisionsOn = (list: string) =>
      list.match(/[^\s,]+/g)?.map((one) => [one, rules.decide(resourceOf(one), undefined)]);
    for (const [endpoint, decision] of decisionsOn(covered) ?? [])
      t.equal(decision, "granted", `${pattern}: ${endpoint}`);
    for (const [endpoint, decision] of decisionsOn(others) ?? [])
      t.equal(decision, "unauthorized", `${pattern}: ${endpoint}`);
  }
});

t.test("the commands of the page print what the page shows", async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const transcript = /```console\n(.*?)```/s.exec(page)?.[1] ?? "";
  t.match(transcript, /--dry-run/);
  const login = "$ PORTICO_PASSWORD={password} portico login < /dev/null\nLogged in to …\n\n";
  await replay(t, login + transcript, { url: portico.address("HTTP"), data });
});
