/** Helpers that serve services in a test. */
import { pino } from "pino";
import type { Test } from "tap";
import { Dispatcher, type DispatcherOptions } from "../../src/rpc/dispatch.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import type { Service } from "../../src/rpc/service.js";
import type { GrpcServer } from "../../src/rpc/transport.js";
import { MAX_BODY } from "../contract/channel.js";
import { TableGuard } from "./table-guard.js";

export const LIMITS = {
  maxBody: MAX_BODY,
  maxHeaders: 16_384,
  maxConnections: 100,
  headerTime: 10_000,
  keepAlive: 65_000,
  callTime: 30_000,
  maxCallTime: 90_000,
};

/** A dispatcher that admits every caller, unless `options` has another guard. */
export function dispatcherOf(services: readonly Service[], options: Partial<DispatcherOptions> = {}): Dispatcher {
  const log = pino({ level: "silent" });
  return new Dispatcher({ services, guard: new TableGuard(), limits: LIMITS, log, ...options });
}

/** Keeps this process alive, as a server's port would. The deadlines of calls in process do not. */
export function stayAlive(t: Test): void {
  const timer = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(timer));
}

/** Serves on a free port until the test ends. */
export async function listen(t: Test, dispatcher: Dispatcher): Promise<GrpcServer> {
  const server = await serveGrpc(dispatcher, { host: "127.0.0.1", port: 0 }, LIMITS);
  t.teardown(() => server.close(0));
  return server;
}
