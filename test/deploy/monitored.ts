/** A running installation, and the files by which Prometheus and Grafana watch it. */
import { readFileSync } from "node:fs";
import type { Test } from "tap";
import { parse } from "yaml";
import { installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { administrator, answered, call, type Portico, start } from "../support/process.js";

export const ALERTS = "deploy/prometheus/alerts.yaml";
export const DASHBOARD = "deploy/grafana/dashboard.json";

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

/** The rules of ALERTS, in their order. */
export const alerts: readonly Alert[] = parse(readFileSync(ALERTS, "utf8")).groups.flatMap(
  ({ rules }: { rules: Alert[] }) => rules,
);

export const dashboard: { readonly panels: readonly Panel[]; readonly [member: string]: unknown } = JSON.parse(
  readFileSync(DASHBOARD, "utf8"),
);

/** Each expression of the dashboard and the alerts, with the place where it is. */
export const expressions: readonly (readonly [place: string, expr: string])[] = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** The names of metrics in an expression, and the labels with which each is selected. */
export function metricsIn(expr: string): { readonly name: string; readonly labels: readonly string[] }[] {
  const found = expr.matchAll(/\b((?:portico|nodejs|process)_\w+)(?:\{([^}]*)\})?/g);
  return Array.from(found, ([, name = "", selected = ""]) => ({
    name,
    labels: Array.from(selected.matchAll(/(\w+)(?:=~?|!=|!~)"/g), ([, label = ""]) => label),
  }));
}

const PROCESSES = ["server", "authority", "gateway", "service"] as const;

export type Monitored = Readonly<Record<(typeof PROCESSES)[number], Portico>>;

/**
 * An authority, a gateway and a service, and a server beside them, with calls that were made. They
 * are stopped after the test.
 */
export async function startMonitored(t: Test, env: Record<string, string> = {}): Promise<Monitored> {
  const data = await installation(t.testdir());
  const grpc = `127.0.0.1:${await freePort()}`;
  const running: Portico[] = [];
  t.teardown(() => Promise.all(running.map((portico) => portico.stop())));
  const run = async (role: readonly string[], more: Record<string, string>): Promise<Portico> => {
    const portico = await start(role, { ...env, ...more });
    running.push(portico);
    return portico;
  };
  const other = await installation(`${t.testdirName}-server`);
  const [authority, server] = await Promise.all([
    run(["authority"], { PORTICO_DATA: data, PORTICO_GRPC: grpc }),
    run(["server", "--services=helloworld"], { PORTICO_DATA: other }),
  ]);
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: grpc };
  const [gateway, service] = await Promise.all([run(["gateway"], joined), run(["service", "helloworld"], joined)]);
  for (const portico of [gateway, server]) {
    const http = portico.address("HTTP");
    await answered(() => call(`${http}/helloworld/call?name=Ada`), 200);
    await administrator(http, portico === gateway ? data : other);
    await call(`${http}/auth/login`, { account: "admin", password: "wrong" });
  }
  return { server, authority, gateway, service };
}

/** What `/metrics` of a process says. */
export async function metricsOf(portico: Portico): Promise<string> {
  return (await fetch(portico.address("Metrics"), { signal: AbortSignal.timeout(10_000) })).text();
}
