// Each role has the metrics of the list, and the dashboard and the alerts use only metrics and
// labels that a running installation has.
import { readFileSync } from "node:fs";
import t from "tap";
import { parse } from "yaml";
import { METRICS } from "../../src/metric-list.js";
import { tablesOf } from "../docs/markdown.js";
import { alerts, dashboard, expressions, metricsIn, metricsOf, startMonitored } from "./monitored.js";

/** They appear with the first request or call. */
const WITH_CALLS = /^portico_(?:requests|request|grpc_calls|grpc_call)_/;
const PAGE = "docs/metrics.md";
const page = readFileSync(PAGE, "utf8");

const monitored = await startMonitored(t);
const texts = new Map<string, string>();
for (const [role, portico] of Object.entries(monitored)) texts.set(role, await metricsOf(portico));
const typesIn = (text: string) =>
  new Map(Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = "", type = ""]) => [name, type]));

for (const [role, text] of texts) {
  t.test(`${role} has its metrics of the list, and no others`, async (t) => {
    const names = [...typesIn(text).keys()].filter((name) => name.startsWith("portico_"));
    const expected = Object.entries(METRICS).filter(([, { roles }]) => roles.includes(role));
    t.same(
      names.filter((name) => !WITH_CALLS.test(name)),
      expected.map(([name]) => name).filter((name) => !WITH_CALLS.test(name)),
    );
    for (const name of names.filter((name) => WITH_CALLS.test(name))) {
      t.ok(
        expected.some(([known]) => known === name),
        name,
      );
    }
  });
}

t.test("what an installation counted is in its metrics", async (t) => {
  const cases: [role: keyof typeof monitored, sample: RegExp][] = [
    ["gateway", /^portico_requests_total\{service="helloworld",endpoint="helloworld:Helloworld.Call",code="200"\} 1$/m],
    ["service", /^portico_grpc_calls_total\{service="helloworld",endpoint="\S+",code="OK"\} 1$/m],
    ["authority", /^portico_grpc_calls_total\{service="auth",/m],
    ["authority", /^portico_authority_guards 3$/m],
    ["authority", /^portico_connections\{protocol="grpc"\} [1-9]/m],
    ["authority", /^portico_sign_ins_total\{kind="login"\} 1$/m],
    ["authority", /^portico_failed_logins_total\{reason="password"\} 1$/m],
    ["gateway", /^portico_service_instances\{service="helloworld",state="ready"\} 1$/m],
    ["gateway", /^portico_connections\{protocol="http1"\} [1-9]/m],
    ["gateway", /^portico_guard_lease_remaining_seconds [1-4]\.\d+$/m],
    ["gateway", /^portico_ready 1$/m],
    ["gateway", /^portico_degraded 0$/m],
    ["gateway", /^portico_build_info\{version="\d+\.\d+\.\d+",commit="[^"]*",node="v\d+\.\S+",role="gateway"\} 1$/m],
    ["server", /^portico_sign_ins_total\{kind="login"\} 1$/m],
    ["server", /^portico_store_errors_total\{store="services"\} 0$/m],
  ];
  for (const [role, sample] of cases) t.match(texts.get(role), sample, role);
});

t.test("each sample has the labels of the list", async (t) => {
  for (const text of texts.values()) {
    for (const [, name = "", labels = ""] of text.matchAll(/^(portico_\w+)(?:\{(.*)\})? \S+$/gm)) {
      const metric = METRICS[name.replace(/_(?:bucket|sum|count)$/, "") as keyof typeof METRICS];
      const found = Array.from(labels.matchAll(/(\w+)="/g), ([, label]) => label).filter((label) => label !== "le");
      t.same(found, metric.labels, name);
    }
  }
});

t.test("expressions use metrics and labels that exist", async (t) => {
  const all = new Map([...texts.values()].flatMap((text) => [...typesIn(text)]));
  for (const [name, type] of [...all]) {
    if (type === "histogram") for (const suffix of ["bucket", "sum", "count"]) all.set(`${name}_${suffix}`, "counter");
  }
  for (const [place, expr] of expressions) {
    for (const { name, labels } of metricsIn(expr)) {
      t.ok(all.has(name), `${place}: ${name}`);
      const own = METRICS[name.replace(/_(?:bucket|sum|count)$/, "") as keyof typeof METRICS]?.labels ?? [];
      t.same(
        labels.filter((label) => ![...own, "job", "instance"].includes(label)),
        [],
        `${place}: labels of ${name}`,
      );
    }
  }
  const used = new Set(expressions.flatMap(([, expr]) => metricsIn(expr).map(({ name }) => name)));
  const isUsed = (name: string): boolean => [name, `${name}_bucket`].some((one) => used.has(one));
  t.same(
    Object.keys(METRICS).filter((name) => !isUsed(name)),
    [],
    "every metric is on the dashboard or in an alert",
  );
});

t.test("each alert has a summary, what to do, a section of the page, and a test", async (t) => {
  const tests: { name: string }[] = parse(readFileSync("deploy/prometheus/alerts.test.yaml", "utf8")).tests;
  const tested = tests.map(({ name }) => name).filter((name) => name.startsWith("Portico"));
  t.same(tested.sort(), alerts.map(({ alert }) => alert).sort());
  for (const { alert, labels, annotations } of alerts) {
    t.match(annotations.summary, /\w/, `${alert}: summary`);
    t.match(annotations.description, /^[A-Z`].*\.$/, `${alert}: a sentence`);
    t.match(labels.severity, /^(?:critical|warning|info)$/, alert);
    t.equal(annotations.runbook, `${PAGE}#${alert.toLowerCase()}`);
  }
  const sections = Array.from(page.matchAll(/^### (Portico\w+)$/gm), ([, name]) => name);
  t.same(
    sections,
    alerts.map(({ alert }) => alert),
    "the page has their sections in the same order",
  );
});

t.test("the page has the list of metrics", async (t) => {
  const rows = tablesOf(page).find(({ header }) => header[0] === "metric")?.rows;
  const at = (roles: readonly string[]): string => (roles.length === 4 ? "every role" : roles.join(", "));
  const expected = Object.entries(METRICS).map(([name, { type, labels, roles, help }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    at(roles),
    help,
  ]);
  t.same(rows, expected);
});

t.test("the dashboard is one that Grafana can load", async (t) => {
  const { panels, uid, title, schemaVersion } = dashboard;
  t.match({ uid, title, schemaVersion }, { uid: "portico", title: "Portico", schemaVersion: 38 });
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length, "each panel has its own id");
  const taken = new Set<string>();
  for (const { type, title, gridPos, datasource, targets = [] } of panels) {
    t.ok(gridPos.x >= 0 && gridPos.x + gridPos.w <= 24, `${title} is within 24 columns`);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        t.notOk(taken.has(`${x} ${y}`), `${title} covers no other panel`);
        taken.add(`${x} ${y}`);
      }
    }
    if (type === "row") continue;
    t.match(type, /^(?:timeseries|stat|table)$/);
    t.same(datasource, { type: "prometheus", uid: "$" + "{datasource}" }, title);
    t.ok(targets.length > 0, title);
    t.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
  }
});

t.test("the job that the Prometheus operator makes of the PodMonitor is the alerts' job", async (t) => {
  const { metadata } = parse(readFileSync("deploy/kubernetes/kustomize/pod-monitor/pod-monitor.yaml", "utf8"));
  t.match(`any-namespace/${metadata.name}`, /^.*portico.*$/, "as in the expression of PorticoDown");
});
