/**
 * A call for tests of handlers, without Portico:
 *
 *     await greeter.call({ name: "Ada" }, testCall({ account: "ada" }))
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_NAMESPACE } from "../contract/names.js";
import { createLog } from "../log.js";
import type { BuiltInContext } from "../rpc/service.js";
import type { Call } from "./call.js";
import { ServiceCall } from "./service-call.js";
import { type SharedStore, sharedStore } from "./shared-store.js";

/** The properties of a test's call. */
export interface TestCallOptions {
  /** The caller's account; without it the caller is unauthenticated. */
  readonly account?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** Default `default`. */
  readonly namespace?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A call by an account. All calls of a process share one store, in a temporary folder that is
 * deleted when the process exits. `call.client` throws: a handler that calls other services must be
 * tested with Portico.
 */
export function testCall(options: TestCallOptions = {}): Call {
  const { account, scopes = [], namespace = DEFAULT_NAMESPACE, signal = new AbortController().signal } = options;
  const identity = { namespace, scopes, expires: Number.POSITIVE_INFINITY, resources: [] };
  const context: BuiltInContext = {
    caller: account === undefined ? undefined : { account, ...identity },
    namespace,
    system: false,
    endpoint: "test:Test.Call",
    metadata: [],
    deadline: undefined,
    deadlineMonotonicMs: undefined,
    signal,
    clientAddress: "127.0.0.1",
    sendHeaders() {},
    setTrailers() {},
  };
  return new ServiceCall(context, {
    service: "test",
    log: createLog("silent"),
    store: sharedByTests(),
    clients: noClients,
  });
}

function noClients(): never {
  throw new Error("call.client: a handler that calls other services is tested with a Portico");
}

let store: SharedStore | undefined;

function sharedByTests(): SharedStore {
  store ??= sharedStore(async () => (await import("../store/open.js")).openServiceStore("sqlite:", temporaryFolder()));
  return store;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "portico-test-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
