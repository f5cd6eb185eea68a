/** Opens an authority as a process does: on a real store, behind a dispatcher and a guard, called in process. */
import { join } from "node:path";
import pino from "pino";
import type { Test } from "tap";
import { type Authority, type AuthorityOptions, openAuthority } from "../../services/auth/authority.js";
import { AuthService } from "../../src/gen/portico/auth/v1/auth.js";
import { openGuard, SYSTEM } from "../../src/guard.js";
import type { Channel } from "../../src/rpc/channel.js";
import { type CallOptions, unary } from "../../src/rpc/client.js";
import { Dispatcher } from "../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../src/rpc/in-process.js";
import type { MethodDefinition } from "../../src/rpc/service.js";
import { openStore } from "../../src/store.js";

export const PASSWORD = "correct horse battery";
export const silent = pino({ level: "silent" });

type Unary<Request, Response> = MethodDefinition<Request, Response> & {
  readonly requestStream: false;
  readonly responseStream: false;
};

export interface Open {
  readonly authority: Authority;
  readonly channel: Channel;
  readonly folder: string;
  /** Calls with a token, or with none. */
  call<Request, Response>(
    method: Unary<Request, Response>,
    request: NoInfer<Request>,
    token?: string,
    options?: CallOptions,
  ): Promise<Response>;
  /** Logs in and gives the access token. */
  login(account?: string, password?: string, namespace?: string): Promise<string>;
  close(): Promise<void>;
}

export async function open(
  t: Test,
  { folder = t.testdir(), ...options }: Partial<AuthorityOptions> & { folder?: string } = {},
): Promise<Open> {
  const store = options.store ?? (await openStore("sqlite:", folder));
  const authority = await openAuthority({
    store,
    dataFolder: folder,
    adminPassword: PASSWORD,
    maxRules: 10_000,
    leaseMs: 5_000,
    log: silent,
    ...options,
  });
  let channel: Channel | undefined;
  const late: Channel = {
    open: (start, listener) => channel!.open(start, listener),
    state: "ready",
    close: () => undefined,
  };
  const guard = openGuard({ channel: late, metadata: [], admission: SYSTEM, log: silent });
  const limits = { maxBody: 4 * 2 ** 20, callTime: 30_000, maxCallTime: 90_000 };
  channel = new InProcessChannel(new Dispatcher({ services: [authority.service], guard, limits, log: silent }));
  await guard.ready();
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= (async () => {
      guard.close();
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
      metadata: token === undefined ? [] : [["authorization", `Bearer ${token}`]],
    });
  const login: Open["login"] = async (account = "admin", password = PASSWORD, namespace = "") =>
    (await call(AuthService.login, { account, password, namespace })).accessToken;
  return { authority, channel, folder, call, login, close };
}

/** Where the store of a data folder is. */
export function storeFile(folder: string): string {
  return join(folder, "portico.sqlite");
}
