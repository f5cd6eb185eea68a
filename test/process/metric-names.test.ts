// Names of metrics follow the conventions that `promtool check metrics` checks
// (https://prometheus.io/docs/practices/naming/): each metric has a help text, only counters end in
// `_total`, units are base units, and a name does not contain the type.
import t from "tap";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { Code } from "../../src/errors.js";
import { METRICS, type MetricName } from "../../src/metric-list.js";
import { Metrics } from "../../src/metrics.js";

const metrics = new Metrics();
const COUNTED_HERE = /^portico_(?:requests?|grpc_calls?|limit)_/;
for (const [name, { labels }] of Object.entries(METRICS)) {
  if (COUNTED_HERE.test(name)) continue;
  metrics.add(name as MetricName, () => (labels.length === 0 ? 1 : [[labels.map(() => "a"), 1]]));
}
metrics.limitRefused("ci");
const endpoint = { service: "helloworld", name: "helloworld:Helloworld.Call" } as Endpoint;
metrics.request(endpoint, 200, 0.1);
metrics.grpcCall(endpoint, Code.OK, 0.1);
const text = await metrics.text();
const helps = new Map([...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name, help]) => [name, help]));
const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => ({ name, type }));
const SUFFIXES_OF_OTHERS = /_(?:count|sum|bucket)$/;
const NOT_BASE = /_(?:ms|milliseconds|microseconds|minutes|hours|kilobytes|megabytes|kib|mib)(?:_|$)/;

t.same(
  types
    .map(({ name }) => name)
    .filter((name) => name.startsWith("portico_"))
    .sort(),
  Object.keys(METRICS).sort(),
  "all metrics of the list are written, and no others",
);

t.test("each metric has a help text, and a name that fits its type", async (t) => {
  for (const { name, type } of types) {
    t.ok(helps.get(name), `${name} has a help text`);
    t.equal(name.endsWith("_total"), type === "counter", `${name} is a ${type}`);
    t.match(name, /^[a-z][a-z0-9_]*$/);
    t.notMatch(name, SUFFIXES_OF_OTHERS);
    t.notMatch(name, NOT_BASE);
    t.notOk(name.split("_").includes(type), `${name} does not say that it is a ${type}`);
  }
});

t.test("every sample belongs to a declared metric", async (t) => {
  const names = new Set(types.map(({ name }) => name));
  for (const [, sample = ""] of text.matchAll(/^([a-z]\w*)(?:\{.*\})? /gm)) {
    t.ok(names.has(sample) || names.has(sample.replace(SUFFIXES_OF_OTHERS, "")), sample);
  }
});

t.test("the value of a label may have any characters", async (t) => {
  const metrics = new Metrics();
  metrics.add("portico_service_instances", () => [[['a"b\\c\nd', "ready"], 2]]);
  const text = await metrics.text();
  t.ok(text.includes('portico_service_instances{service="a\\"b\\\\c\\nd",state="ready"} 2\n'));
});
