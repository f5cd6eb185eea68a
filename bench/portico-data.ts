/**
 * Data folders of Portico for the benchmark: an installation with a login, and with any number of
 * rules.
 */
import { randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { ChangeLog } from "../services/auth/log/changelog/change-log.js";
import { Journal } from "../services/auth/log/changelog/journal.js";
import { checkRule } from "../src/access/decide/rules.js";
import { createToken, hashToken } from "../src/call/token.js";
import type { Event } from "../src/gen/portico/auth/log/v1/log.js";
import { Access, type Rule } from "../src/gen/portico/auth/v1/rules.js";
import { openStore } from "../src/store/open.js";
import { toTimestamp } from "../src/time.js";
import { freePort, launch, stop } from "./processes.js";

/** A copy of dist/, so that a build during the run does not change what is measured. */
const COPY = join(import.meta.dirname, "node_modules/.portico");
export const PORTICO = join(COPY, "portico.js");

const NAMESPACE = "default";
/** Number of rules that one entry of the log creates. */
const BATCH = 1_000;

/** A folder, and a token that may call `helloworld`. */
export interface Installation {
  readonly folder: string;
  readonly token: string;
}

/**
 * Creates an installation with ten rules. One of them grants the service `helloworld` to logged-in
 * callers.
 */
export async function install(folder: string): Promise<Installation> {
  rmSync(COPY, { recursive: true, force: true });
  cpSync(process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist"), COPY, { recursive: true });
  const http = `127.0.0.1:${await freePort()}`;
  const password = randomUUID();
  const free = "127.0.0.1:0";
  const server = launch({
    role: "portico",
    command: process.execPath,
    args: [PORTICO, "server"],
    env: {
      PORTICO_DATA: folder,
      PORTICO_ADMIN_PASSWORD: password,
      PORTICO_HTTP: http,
      PORTICO_GRPC: free,
      PORTICO_ADMIN: free,
    },
  });
  try {
    await logIn(`http://${http}`, password);
    await stop(server);
    const token = createToken("access");
    await write(folder, [
      loggedIn("admin", token),
      { $case: "ruleDeleted", value: { namespace: NAMESPACE, id: "default" } },
      ruleCreated({
        id: "callers",
        scope: "*",
        access: Access.GRANTED,
        resource: "service:helloworld:*",
        priority: 0,
        disabled: false,
      }),
      ...unrelatedRules(9),
    ]);
    return { folder, token };
  } finally {
    await stop(server);
  }
}

/** A copy of the installation with `moreRules` additional rules. */
export async function copy({ folder, token }: Installation, moreRules = 0): Promise<Installation> {
  const target = mkdtempSync(`${folder}-`);
  cpSync(folder, target, { recursive: true });
  await write(target, unrelatedRules(moreRules, "more"));
  return { folder: target, token };
}

/** A login of an account. Its token is valid for a day, longer than any run. */
export function loggedIn(account: string, token: string): NonNullable<Event["event"]> {
  const expires = toTimestamp(Date.now() + 86_400_000);
  const refresh = hashToken(`refresh ${token}`);
  const value = {
    login: refresh,
    namespace: NAMESPACE,
    account,
    access: { sha256: hashToken(token), expires },
    refresh: { sha256: refresh, expires },
  };
  return { $case: "loggedIn", value };
}

/** Waits until an account may log in: then the installation is complete. */
async function logIn(http: string, password: string): Promise<void> {
  for (const late = Date.now() + 20_000; ; ) {
    try {
      const response = await fetch(`${http}/auth/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ account: "admin", password }),
      });
      if (response.ok) return;
      await response.body?.cancel();
    } catch {}
    if (Date.now() > late) throw new Error("the account admin cannot log in within 20 s of the start");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Rules for other services, for other endpoints of the same service, and for scopes that the caller
 * does not have.
 */
function unrelatedRules(count: number, prefix = "rule"): NonNullable<Event["event"]>[] {
  return Array.from({ length: count }, (_, index) =>
    ruleCreated({
      disabled: false,
      id: `${prefix}${index}`,
      scope: `team${index % 100}`,
      access: index % 7 === 0 ? Access.DENIED : Access.GRANTED,
      resource:
        index % 10 === 0
          ? `service:helloworld:Endpoint${index}.Call`
          : `service:service${index % 1_000}:Endpoint${index}.Call`,
      priority: index % 5,
    }),
  );
}

function ruleCreated(rule: Rule) {
  return { $case: "ruleCreated" as const, value: { namespace: NAMESPACE, rule: checkRule(rule) } };
}

/**
 * Writes the same log entries as the authority, thousands at once. The authority creates rules one
 * by one, and waits each time until the rule is on disk.
 */
export async function write(folder: string, events: NonNullable<Event["event"]>[]): Promise<void> {
  const store = await openStore("sqlite:", folder);
  try {
    const logger = pino({ level: "silent" });
    const clock = { now: Date.now, check: () => undefined };
    const journal = await Journal.open({ log: new ChangeLog({ store, log: logger }), logger, clock });
    const author = { namespace: NAMESPACE, account: "admin" };
    for (let start = 0; start < events.length; start += BATCH) {
      await journal.commit(author, () => events.slice(start, start + BATCH));
    }
    await journal.close();
  } finally {
    await store.close();
  }
}
