/** Guards of one authority, which count calls against its limits. */
import type { Test } from "tap";
import { OpenGuard, SYSTEM } from "../../src/access/guard.js";
import type { Admission, Guarded } from "../../src/call/admission.js";
import { type LimitedCall, LimitedError } from "../../src/call/limited-call.js";
import { Code, type StatusError } from "../../src/errors.js";
import { type Limit, LimitsService, Per } from "../../src/gen/portico/auth/v1/limits.js";
import type { Channel } from "../../src/rpc/channel.js";
import { type Open, open, silent } from "../services/auth/open.js";

/** The endpoint that the calls of these tests have. */
export const ENDPOINT: Guarded = {
  service: "helloworld",
  name: "helloworld:Helloworld.Call",
  resource: "service:helloworld:helloworld.call",
  segments: { type: "service", name: "helloworld", endpoint: "helloworld.call" },
  callers: undefined,
};

/** A limit with all that is not given left out. */
export function limitOf(limit: Partial<Limit> & { id: string }): Limit {
  return {
    ...{ scope: "", resource: "", per: Per.EVERYONE, rate: "", burst: 0n, quota: "", concurrent: 0, shadow: false },
    ...limit,
  };
}

export interface Limited extends Open {
  readonly token: string;
  /** Creates a limit. */
  create(limit: Partial<Limit> & { id: string }): Promise<void>;
  /** Replaces a limit. */
  set(limit: Partial<Limit> & { id: string }): Promise<void>;
  delete(id: string): Promise<void>;
  /** Opens another guard; closed with the test. */
  guard(channel?: Channel): Promise<OpenGuard>;
}

/** An authority, and functions for its limits. */
export async function openLimited(t: Test, options: Parameters<typeof open>[1] = {}): Promise<Limited> {
  const opened = await open(t, options);
  const token = await opened.login();
  const { call, channel } = opened;
  return {
    ...opened,
    token,
    create: async (limit) => void (await call(LimitsService.create, { limit: limitOf(limit) }, token)),
    set: async (limit) => void (await call(LimitsService.set, { limit: limitOf(limit), expected: undefined }, token)),
    delete: async (id) => void (await call(LimitsService.delete, { id }, token)),
    guard: async (to = channel) => {
      const guard = new OpenGuard({ channel: to, metadata: [], admission: SYSTEM, log: silent });
      t.teardown(() => guard.close());
      await guard.ready();
      return guard;
    },
  };
}

/** How one call ended: counted, without a limit, or refused. */
export type Outcome = LimitedCall | undefined | LimitedError;

/** Admits and counts one call. Errors other than LimitedError are thrown. */
export async function callOnce(
  guard: OpenGuard,
  { token, address = "192.0.2.1", endpoint = ENDPOINT }: { token?: string; address?: string; endpoint?: Guarded } = {},
): Promise<Outcome> {
  const credentials = { token, namespace: undefined, tokenRequired: false };
  const admission: Admission = await guard.admit(credentials, endpoint);
  try {
    return await guard.count(admission, { address, asserted: false });
  } catch (error) {
    if (error instanceof LimitedError) return error;
    throw error;
  }
}

export function isRefused(outcome: Outcome): outcome is LimitedError {
  return outcome instanceof LimitedError;
}

/** How many of `count` calls, all at once, are not refused. */
export async function grantedOf(
  guard: OpenGuard,
  count: number,
  call?: Parameters<typeof callOnce>[1],
): Promise<number> {
  const outcomes = await Promise.all(Array.from({ length: count }, () => callOnce(guard, call)));
  return outcomes.filter((outcome) => !isRefused(outcome)).length;
}

/** The code of the error that a promise rejects with. */
export async function codeOf(promise: Promise<unknown>): Promise<Code> {
  return promise.then(
    () => Code.OK,
    (error: StatusError) => error.code,
  );
}
