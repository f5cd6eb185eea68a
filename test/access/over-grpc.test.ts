// A guard and its authority connected over a network, as for a gateway on another computer.
import t from "tap";
import type { OpenGuard } from "../../src/access/guard.js";
import type { Admission, Credentials } from "../../src/call/admission.js";
import { Code, StatusError } from "../../src/errors.js";
import { RulesService } from "../../src/gen/portico/auth/v1/rules.js";
import { GrpcChannel } from "../../src/rpc/grpc-js/channel.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { freePort } from "../support/ports.js";
import { call as endpoint } from "./endpoints.js";
import { readRule } from "./read-rule.js";
import { ask, codeOf, joinAt, openTestGateway } from "./test-gateway.js";

const LEASE_MS = 1_000;

/**
 * The guard's admission. Asks again if this process was stopped for longer than the lease, because
 * the result is then 503.
 */
async function admitted(guard: OpenGuard, shown: Partial<Credentials>): Promise<Admission> {
  for (;;) {
    try {
      return await ask(guard, endpoint, shown);
    } catch (error) {
      if (StatusError.from(error).code !== Code.UNAVAILABLE) throw error;
      await guard.ready();
    }
  }
}

/**
 * Asks without pause, from several places at once, until it is stopped. Each result has the moment
 * of asking.
 */
function load(guard: OpenGuard): {
  /** Resolves after `count` further results. */
  more(count: number): Promise<void>;
  stop(): Promise<{ asked: number; code: number }[]>;
} {
  const responses: { asked: number; code: number }[] = [];
  let stopped = false;
  const caller = async () => {
    while (!stopped) {
      const asked = performance.now();
      responses.push({ asked, code: await codeOf(guard, endpoint) });
      await new Promise(setImmediate);
    }
  };
  const callers = Array.from({ length: 16 }, caller);
  return {
    more: async (count) => {
      for (const enough = responses.length + count; responses.length < enough; ) await new Promise(setImmediate);
    },
    stop: async () => {
      stopped = true;
      await Promise.all(callers);
      return responses;
    },
  };
}

t.test("a guard and its authority in two processes", async (t) => {
  const gateway = await openTestGateway(t, { leaseMs: LEASE_MS });
  const services = [gateway.authority.service];
  const dispatcher = dispatcherOf(services, { guard: gateway.guard });
  const address = { host: "127.0.0.1", port: await freePort() };
  let server = await serveGrpc(dispatcher, address, LIMITS);
  t.teardown(() => server.close(0));
  const channel = new GrpcChannel(address);
  t.teardown(() => channel.close());
  const guard = await joinAt(t, channel, gateway.enrolment);

  await t.test("a token is looked up and admitted", async (t) => {
    t.equal((await admitted(guard, { token: gateway.admin })).caller?.account, "admin");
  });

  await t.test("a deleted rule grants nothing after the response", async (t) => {
    const calls = load(guard);
    await calls.more(100);
    await gateway.call(RulesService.delete, { id: "default" }, gateway.admin);
    const answered = performance.now();
    await calls.more(1_000);
    const responses = await calls.stop();
    const late = responses.filter(({ asked }) => asked > answered);
    t.ok(responses.some(({ code }) => code === Code.OK));
    t.ok(late.length > 0);
    t.equal(late.filter(({ code }) => code === Code.OK).length, 0, `of ${late.length} calls afterwards`);
  });

  await t.test(
    "without its authority the guard refuses with 503 after the lease, and recovers by itself",
    async (t) => {
      await gateway.call(RulesService.create, { rule: readRule("<public> granted *:*:*", "again") }, gateway.admin);
      await server.close(0);
      const closed = performance.now();
      let asked = closed;
      let granted = closed;
      while ((await codeOf(guard, endpoint)) === Code.OK) {
        granted = asked;
        await new Promise(setImmediate);
        asked = performance.now();
      }
      t.ok(granted - closed <= LEASE_MS, `the last call was granted ${granted - closed} ms after`);
      t.equal(await codeOf(guard, endpoint), Code.UNAVAILABLE);
      server = await serveGrpc(dispatcher, address, LIMITS);
      await guard.ready();
      t.equal((await admitted(guard, { token: gateway.admin, tokenRequired: true })).caller?.account, "admin");
    },
  );
});
