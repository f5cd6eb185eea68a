// Every row of the table, decided by the compiled rules and by a scan of all rules.
import t from "tap";
import { RuleSet } from "../../src/access/decide/rules.js";
import type { Decision } from "../../src/call/admission.js";
import type { Resource } from "../../src/contract/resource.js";
import { rows } from "../cases/rules.js";
import { readRules } from "./read-rule.js";
import { scan } from "./scan.js";

const CODE: Record<Decision, number> = { granted: 200, unauthorized: 401, forbidden: 403 };

function segmentsOf(resource: string): Resource {
  const [type = "", name = "", endpoint = ""] = resource.toLowerCase().split(":");
  return { type, name, endpoint };
}

t.ok(rows.length >= 60, `${rows.length} rows`);
t.equal(new Set(rows.map((row) => row.what)).size, rows.length, "no two rows have one name");

for (const row of rows) {
  const home = row.home ?? "default";
  const namespace = row.asked ?? (row.scopes ? home : "default");
  const scopes = namespace === home ? row.scopes : undefined;
  const resource = row.resource ?? "service:helloworld:Helloworld.Call";
  const rules = readRules(row.rules).get(namespace) ?? [];

  t.test(row.what, async (t) => {
    const scanned = scan(rules, resource, scopes);
    t.equal(CODE[scanned.decision], row.expect, "by a scan");
    if (row.matched) t.same(ids(scanned.matched), row.matched, "matched by a scan");
    // The compiled rules refuse this resource; a scan treats it as one that matches nothing.
    if (row.impossible === "rule") return;

    const compiled = RuleSet.compile(rules);
    const explanation = compiled.explain(segmentsOf(resource), scopes);
    t.equal(CODE[compiled.decide(segmentsOf(resource), scopes)], row.expect, "compiled");
    t.equal(CODE[explanation.decision], row.expect, "explained");
    t.same(ids(explanation.matched), ids(scanned.matched), "matched");
    t.equal(explanation.decidedBy, explanation.matched[0], "decided by the first that matched");
    t.equal(compiled.decisive(segmentsOf(resource), scopes), explanation.matched[0], "found without the others");
  });
}

function ids(rules: readonly { id: string }[]): string[] {
  return rules.map((rule) => rule.id);
}
