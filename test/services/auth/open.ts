/** Opens an authority like a process does, on a real store and with a guard; called in process. */

import { scryptSync } from "node:crypto";
import pino, { type Logger } from "pino";
import type { Test } from "tap";
import { type Authority, openAuthority } from "../../../services/auth/authority.js";
import { firstEntry } from "../../../services/auth/bootstrap.js";
import { ChangeLog } from "../../../services/auth/log/changelog/change-log.js";
import { Journal, PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { OpenGuard, SYSTEM } from "../../../src/access/guard.js";
import { hashToken } from "../../../src/call/token.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { type Caller, PolicyService } from "../../../src/gen/portico/auth/v1/policy.js";
import type { Channel } from "../../../src/rpc/channel.js";
import { type CallOptions, unary } from "../../../src/rpc/client.js";
import type { MethodDefinition } from "../../../src/rpc/definition.js";
import { Dispatcher } from "../../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { openStore } from "../../../src/store/open.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { CHEAP } from "../../support/passwords.js";
import { temporaryFolder } from "../../support/temporary.js";

export const PASSWORD = "correct horse battery";
export const HASH = {
  salt: Buffer.from("salt"),
  ...CHEAP,
  hash: scryptSync(PASSWORD, "salt", 32, { N: 2, r: 1, p: 1 }),
};
export const silent = pino({ level: "silent" });

type Unary<Request, Response> = MethodDefinition<Request, Response> & {
  readonly requestStream: false;
  readonly responseStream: false;
};

export interface Open {
  readonly authority: Authority;
  readonly channel: Channel;
  readonly folder: string;
  /** Calls with or without a token. */
  call<Request, Response>(
    method: Unary<Request, Response>,
    request: NoInfer<Request>,
    token?: string,
    options?: CallOptions,
  ): Promise<Response>;
  /** Logs in and returns the access token. */
  login(account?: string, password?: string, namespace?: string): Promise<string>;
  close(): Promise<void>;
}

/** A journal on the store; while an authority is open, like the journal of another authority. */
export function openJournal(
  store: KeyValueStore,
  now: () => number = Date.now,
  logger: Logger = silent,
): Promise<Journal> {
  const clock = { now, check: () => undefined };
  return Journal.open({ log: new ChangeLog({ store, log: silent }), logger, clock });
}

/** Sets up a store like the first start does, but with a cheap password and without enrolments. */
async function setUp(store: KeyValueStore, now: (() => number) | undefined): Promise<void> {
  const journal = await openJournal(store, now);
  await journal.commit(PORTICO, ({ revision }) => (revision === 0 ? firstEntry(HASH, []) : []));
}

/** With `fresh`, the authority itself sets up the store. `clock` replaces both clocks. */
export async function open(
  t: Test,
  {
    folder = temporaryFolder(t),
    fresh = false,
    clock,
    ...options
  }: Partial<Parameters<typeof openAuthority>[0]> & { folder?: string; fresh?: boolean; clock?: () => number } = {},
): Promise<Open> {
  const store = options.store ?? (await openStore("sqlite:", folder));
  if (!fresh) await setUp(store, options.clocks?.wall ?? clock);
  const authority = await openAuthority({
    store,
    dataFolder: folder,
    maxRules: 10_000,
    leaseMs: 5_000,
    passwordCost: CHEAP,
    log: silent,
    clocks: clock && { wall: clock, elapsed: clock },
    ...options,
  });
  let channel: Channel | undefined;
  const late: Channel = {
    open: (start, listener) => channel!.open(start, listener),
    state: "ready",
    close: () => undefined,
  };
  const guard = new OpenGuard({ channel: late, metadata: [], admission: SYSTEM, log: silent });
  const limits = { maxBody: 4 * 2 ** 20, callTime: 30_000, maxCallTime: 90_000 };
  channel = new InProcessChannel(new Dispatcher({ services: [authority.service], guard, limits, log: silent }));
  await guard.ready();
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= (async () => {
      await guard.close();
      channel.close();
      await authority.close();
      if (options.store === undefined) await store.close();
    })();
    return closed;
  };
  t.teardown(close);
  const call: Open["call"] = (method, request, token, more) =>
    unary(channel, method, request, {
      ...more,
      metadata: [
        ...(more?.metadata ?? []),
        ...(token === undefined ? [] : [["authorization", `Bearer ${token}`] as const]),
      ],
    });
  const login: Open["login"] = async (account = "admin", password = PASSWORD, namespace = "") =>
    (await call(AuthService.login, { account, password, namespace })).accessToken;
  return { authority, channel, folder, call, login, close };
}

/** The caller that a guard gets for the token. */
export async function callerOf({ call }: Pick<Open, "call">, token: string): Promise<Caller | undefined> {
  const request = { sha256: [hashToken(token)] };
  return (await call(PolicyService.batchResolve, request, undefined, { admission: SYSTEM })).results[0]?.caller;
}

/** Whether a guard would accept the token. */
export async function isGood({ call }: Pick<Open, "call">, token: string): Promise<boolean> {
  return (await callerOf({ call }, token)) !== undefined;
}
