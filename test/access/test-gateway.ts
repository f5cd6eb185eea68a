/**
 * A guard as another process has it, connected to a real authority: it joins by its enrolment
 * token.
 */
import type { Test } from "tap";
import { type Admission, type Credentials, OpenGuard } from "../../src/access/guard.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { StatusError } from "../../src/errors.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import type { Channel } from "../../src/rpc/channel.js";
import { type Open, open, silent } from "../services/auth/open.js";
import { openMemoryStore } from "../support/memory-store.js";

export interface TestGateway extends Open {
  /** A token of the account `admin`. */
  readonly admin: string;
  readonly guard: OpenGuard;
  /** The enrolment token of gateways. */
  readonly enrolment: string;
}

/** Opens both on a store in memory; they end with the test. */
export async function openTestGateway(t: Test, options: Parameters<typeof open>[1] = {}): Promise<TestGateway> {
  const authority = await open(t, { store: openMemoryStore(), ...options });
  const admin = await authority.login();
  const { secret: enrolment } = await authority.call(
    EnrolmentsService.create,
    { name: "gateway", replace: true },
    admin,
  );
  const guard = await joinAt(t, authority.channel, enrolment);
  return { ...authority, admin, guard, enrolment };
}

/** Makes another guard, over any channel to the authority: of one service, or of all services. */
export async function joinAt(t: Test, channel: Channel, enrolment: string, service?: string): Promise<OpenGuard> {
  const guard = new OpenGuard({ channel, metadata: [["authorization", `Bearer ${enrolment}`]], log: silent, service });
  t.teardown(() => guard.close());
  await guard.ready();
  return guard;
}

/** Asks a guard. Defaults: a call without a token to an unversioned path. */
export async function ask(guard: OpenGuard, endpoint: Endpoint, shown: Partial<Credentials> = {}): Promise<Admission> {
  return guard.admit({ token: undefined, namespace: undefined, tokenRequired: false, ...shown }, endpoint);
}

/** As `ask`, but only the code: 0 for granted. */
export async function codeOf(guard: OpenGuard, endpoint: Endpoint, shown?: Partial<Credentials>): Promise<number> {
  try {
    await ask(guard, endpoint, shown);
    return 0;
  } catch (error) {
    return StatusError.from(error).code;
  }
}
