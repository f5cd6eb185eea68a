/** How a row of docs/operating.md is played. */
import { call } from "../../support/process.js";
import { until } from "../../support/until.js";
import type { Incident } from "../incident.js";

type Act = (to: Incident) => Promise<void>;

/** Plays the fault, checks what is seen, runs the commands, and checks that it is over. */
export type Play = Act | { readonly skip: string | false; readonly act: Act };

export const GREET = "/helloworld/call?name=Ada";

/** The response to a call without a token. */
export async function greet({ url }: Incident): Promise<{ readonly status: number; readonly body: unknown }> {
  return call(url + GREET);
}

/** Waits until calls are granted. */
export async function isWell(to: Incident): Promise<void> {
  await until(async () => (await greet(to)).status === 200, { what: () => "calls are granted" });
}

/** What `/readyz` says at the admin port. */
export async function readyz({ env }: Incident): Promise<Record<string, unknown>> {
  return (await call(`http://${env.PORTICO_ADMIN}/readyz`)).body as Record<string, unknown>;
}

export async function isReady(to: Incident): Promise<void> {
  await until(async () => (await readyz(to)).Status === "ready", { what: () => "/readyz is ready" });
}

/** Logs in. On a busy machine a guard may be without a lease for a moment. */
export async function logIn(to: Incident): Promise<void> {
  await until(async () => (await to.tries("portico login")).startsWith("Logged in"), { what: () => "a login" });
}
