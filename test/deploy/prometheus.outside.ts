// The programs of Prometheus accept what Portico has for them: promtool the metrics of each role,
// the alerts and their tests, and the expressions of the dashboard. A Prometheus that reads a
// running installation fires the alerts of an authority that was killed.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { stringify } from "yaml";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";
import { ALERTS, alerts, expressions, metricsOf, startMonitored } from "./monitored.js";

t.setTimeout(180_000);

const missing = ["promtool", "prometheus"].find((program) => spawnSync(program, ["--version"]).error !== undefined);
const skip = missing !== undefined && `there is no ${missing} here`;

/** In milliseconds. */
const TOOL_TIME = 30_000;
/** The pause before each question to Prometheus, which is asked again and again. */
const PAUSE = 100;
/** Alerts fire after this time instead of their own. */
const FOR = "2s";

function promtool(args: readonly string[], input = "", cwd = ".") {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8", input, cwd, timeout: TOOL_TIME });
  return { status, said: `${stdout}${stderr}` };
}

t.test("promtool accepts the alerts, and their tests pass", { skip }, async (t) => {
  t.match(promtool(["check", "rules", "alerts.yaml"], "", "deploy/prometheus"), {
    status: 0,
    said: `SUCCESS: ${alerts.length} rules found`,
  });
  t.match(promtool(["test", "rules", "alerts.test.yaml"], "", "deploy/prometheus"), { status: 0, said: /SUCCESS/ });
});

t.test("promtool understands each expression of the dashboard", { skip }, async (t) => {
  const rules = expressions.map(([, expr], index) => ({
    record: `expression:${index}`,
    expr: expr.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".*"),
  }));
  const file = join(temporaryFolder(t), "expressions.yaml");
  writeFileSync(file, stringify({ groups: [{ name: "expressions", rules }] }));
  t.match(promtool(["check", "rules", file]), { status: 0, said: `SUCCESS: ${rules.length} rules found` });
});

t.test("with a running installation", { skip }, async (t) => {
  const monitored = await startMonitored(t, { PORTICO_LEASE: "2s" });

  await t.test("promtool accepts the metrics of each role", async (t) => {
    const wrong = "# TYPE bodies_kilobytes counter\nbodies_kilobytes 1\n";
    t.match(promtool(["check", "metrics"], wrong), { status: 3, said: "bodies_kilobytes no help text" });
    for (const [role, portico] of Object.entries(monitored)) {
      t.same(promtool(["check", "metrics"], await metricsOf(portico)), { status: 0, said: "" }, role);
    }
  });

  await t.test("a Prometheus fires the alerts of an authority that was killed", async (t) => {
    const { authority, gateway, service } = monitored;
    const targets = [authority, gateway, service].map((portico) => new URL(portico.address("Metrics")).host);
    const prometheus = await startPrometheus(t, targets);
    const firing = async (): Promise<readonly string[]> => {
      const { data } = await prometheus("/api/v1/alerts");
      const all: { state: string; labels: { alertname: string; instance?: string } }[] = data.alerts;
      return (
        all
          // PorticoBusy is right on a busy computer.
          .filter(({ state, labels }) => state === "firing" && labels.alertname !== "PorticoBusy")
          .map(({ labels: { alertname, instance } }) => `${alertname} ${instance ?? ""}`.trim())
          .sort()
      );
    };
    const up = async () => (await prometheus(`/api/v1/query?query=${encodeURIComponent("sum(up)")}`)).data.result;
    await until(async () => (await up())[0]?.value[1] === "3", { what: () => "Prometheus has read three processes" });
    // What fired before it had read all three ends with the next evaluation.
    await until(async () => (await firing()).length === 0, { what: () => "nothing fires while all is well" });
    authority.child.kill("SIGKILL");
    const [down, ...others] = targets;
    const expected = [
      `PorticoDown ${down}`,
      ...others.map((target) => `PorticoLeaseLost ${target}`),
      "PorticoNoAuthority",
      ...others.map((target) => `PorticoNotReady ${target}`),
    ];
    let last: readonly string[] = [];
    const areFiring = async (): Promise<boolean> => {
      last = await firing();
      return expected.every((alert) => last.includes(alert));
    };
    await until(areFiring, { what: () => `the alerts fire; now: ${last.join(", ")}` });
    t.pass(last.join(", "));
  });
});

/** Starts a Prometheus with the alerts, each with a short `for`. Returns what asks its API. */
async function startPrometheus(t: Parameters<typeof temporaryFolder>[0], targets: readonly string[]) {
  const folder = temporaryFolder(t);
  const rules = alerts.map((alert) => ("for" in alert ? { ...alert, for: FOR } : alert));
  writeFileSync(join(folder, "alerts.yaml"), stringify({ groups: [{ name: ALERTS, rules }] }));
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "500ms" },
    rule_files: ["alerts.yaml"],
    scrape_configs: [{ job_name: "portico", static_configs: [{ targets }] }],
  };
  const file = join(folder, "prometheus.yaml");
  writeFileSync(file, stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${resolve(folder, "data")}`];
  const child = spawn("prometheus", [...args, `--web.listen-address=${address}`], { stdio: "ignore" });
  t.teardown(() => stopped(child));
  // biome-ignore lint/suspicious/noExplicitAny: responses of several kinds, checked on use
  const ask = async (path: string): Promise<any> => {
    await sleep(PAUSE);
    const response = await fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(TOOL_TIME) });
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return response.json();
  };
  const isReady = (): Promise<boolean> =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isReady, { what: () => "Prometheus is ready" });
  return ask;
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}
