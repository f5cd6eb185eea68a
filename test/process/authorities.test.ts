/**
 * How a process finds the authorities: in a list of addresses, and by names with several addresses.
 */
import t, { type Test } from "tap";
import type { Authorities } from "../../src/access/follow/authorities.js";
import { parseGrpcTargets } from "../../src/address/address.js";
import type { Lookup } from "../../src/address/resolved-names.js";
import { connectAuthorities } from "../../src/process/authorities.js";
import { repeated, unary } from "../../src/rpc/client.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { silent } from "../services/auth/open.js";
import { until } from "../support/until.js";

interface Options {
  readonly lookup?: Lookup;
  readonly resolveMs?: number;
}

async function connectTo(t: Test, text: string, options: Options = {}) {
  const connected: string[] = [];
  const { authorities, close } = await connectAuthorities({
    targets: parseGrpcTargets(text),
    transport: {
      connect(target, { ip } = {}) {
        connected.push(`${(target as { host: string }).host} ${ip}`);
        return new Http2Channel(target, { ip });
      },
    },
    log: silent,
    ...options,
  });
  t.teardown(() => close(0));
  return { authorities, connected };
}

const namesOf = ({ all }: Authorities): string[] => all.map(({ name }) => name).sort();

t.test("each address of a list is an authority", async (t) => {
  const { authorities } = await connectTo(t, "127.0.0.1:1, grpcs://127.0.0.2:1,[::1]:1");
  t.same(namesOf(authorities), ["127.0.0.1:1", "[::1]:1", "grpcs://127.0.0.2:1"]);
});

t.test("each address of a name is an authority, and changes of the name are followed", async (t) => {
  let addresses = ["127.0.0.2", "127.0.0.3"];
  const lookup = async () => addresses;
  const { authorities, connected } = await connectTo(t, "authority.test:1", { lookup, resolveMs: 20 });
  t.same(namesOf(authorities), ["authority.test:1 (127.0.0.2)", "authority.test:1 (127.0.0.3)"]);
  t.same(connected, ["authority.test 127.0.0.2", "authority.test 127.0.0.3"], "the certificate is for the name");
  const [kept] = authorities.all.filter(({ name }) => name.includes("127.0.0.3"));
  addresses = ["127.0.0.3", "127.0.0.4"];
  await until(() => namesOf(authorities).some((name) => name.includes("127.0.0.4")));
  t.same(namesOf(authorities), ["authority.test:1 (127.0.0.3)", "authority.test:1 (127.0.0.4)"]);
  t.ok(authorities.all.includes(kept!), "the one that stays keeps its connection");
});

t.test("a name that cannot be resolved is an authority too", async (t) => {
  const lookup = async () => {
    throw new Error("no such name");
  };
  const { authorities } = await connectTo(t, "authority.test:1", { lookup });
  t.same(namesOf(authorities), ["authority.test:1"]);
});

/** Starts servers that count their calls. A silent one never responds. */
async function startServers(t: Test, ...kinds: ("responds" | "is silent")[]) {
  const calls: number[] = [];
  const servers = kinds.map(async (kind, index) => {
    calls[index] = 0;
    const one = () => {
      calls[index]!++;
      return kind === "responds" ? Buffer.alloc(0) : new Promise<Buffer>(() => {});
    };
    const server = await serveHttp2(dispatcherOf([rawService({ one })]), { host: "127.0.0.1", port: 0 }, LIMITS);
    t.teardown(() => server.close(0));
    return server.address.port;
  });
  return { calls, ports: await Promise.all(servers) };
}

const ONE = {
  path: "/raw.Raw/One",
  requestStream: false,
  responseStream: false,
  requestSerialize: () => Buffer.alloc(0),
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes,
} as const;

t.test("calls go to the preferred authority, and to another while the preferred one is unreachable", async (t) => {
  const { calls, ports } = await startServers(t, "responds", "responds");
  const { authorities } = await connectTo(t, `127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},127.0.0.1:1`);
  await until(() => authorities.all.filter(({ channel }) => channel.state === "ready").length === 2);
  const named = (port: number | undefined) => authorities.all.find(({ name }) => name === `127.0.0.1:${port}`)!;
  for (const [index, port] of ports.entries()) {
    authorities.prefer(named(port));
    const before = [...calls];
    for (let call = 0; call < 5; call++) await unary(authorities.channel, ONE, Buffer.alloc(0));
    t.equal(calls[index], before[index]! + 5);
  }
  authorities.prefer(named(1));
  await unary(authorities.channel, ONE, Buffer.alloc(0));
});

t.test("a read without a response is sent to another authority, within the deadline", async (t) => {
  const { calls, ports } = await startServers(t, "is silent", "responds");
  const { authorities } = await connectTo(t, ports.map((port) => `127.0.0.1:${port}`).join());
  await until(() => authorities.all.every(({ channel }) => channel.state === "ready"));
  authorities.prefer(authorities.all.find(({ name }) => name.endsWith(`:${ports[0]}`))!);
  await repeated(authorities.channel, ONE, Buffer.alloc(0), { deadlineMonotonicMs: performance.now() + 20_000 });
  t.same(calls, [1, 1]);
});
