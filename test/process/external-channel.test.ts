// Channels to external services whose options name files, over real sockets and both transports.
// The servers are of @grpc/grpc-js and record the metadata that they get.
import { once } from "node:events";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { pino } from "pino";
import t, { type Test } from "tap";
import { parseGrpcTarget } from "../../src/address/address.js";
import { noServiceOptions } from "../../src/config/service-options.js";
import { Code } from "../../src/errors.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { externalConnector } from "../../src/process/external-channel.js";
import type { SecretOptions } from "../../src/process/service-secrets.js";
import type { Channel } from "../../src/rpc/channel.js";
import { loadTransport } from "../../src/rpc/load-transport.js";
import type { ConnectOptions } from "../../src/rpc/transport.js";
import { type Certified, createAuthority } from "../http2/certificates.js";
import { RawService, statusOf } from "../rpc/raw-service.js";
import { LIMITS } from "../rpc/serve.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

const SECRET = "s3cr3t-0f-the-0perat0r";
const authority = createAuthority("authority");
const foreign = createAuthority("foreign");
const NO_TLS = { ca: "", cert: "", key: "", serverName: "" };
const token: SecretOptions = { credential: { name: "token", header: "" }, tls: undefined };

type Seen = Record<string, unknown>;

/**
 * Serves on a free port. Without `keys` in plain text; with `ca` it demands client certificates.
 */
async function serve(t: Test, keys?: Certified, ca: Buffer | null = null, port = 0) {
  const seen: Seen[] = [];
  const server = new Server();
  const one = (call: { metadata: { getMap(): Seen } }, respond: (error: null, value: Buffer) => void): void => {
    seen.push(call.metadata.getMap());
    respond(null, Buffer.alloc(0));
  };
  server.addService({ one: RawService.one }, { one });
  const pair = keys && { cert_chain: keys.cert, private_key: keys.key };
  const credentials = pair ? ServerCredentials.createSsl(ca, [pair], ca !== null) : ServerCredentials.createInsecure();
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, at) => (error ? reject(error) : resolve(at)));
  });
  t.teardown(() => server.forceShutdown());
  return { seen, port: bound, stop: () => server.forceShutdown() };
}

/** Counts the connections to a port that never responds. */
async function trap(t: Test) {
  const ports = new Set<number | undefined>();
  const server = createServer((socket) => {
    ports.add(socket.remotePort);
    socket.on("error", () => {});
    t.teardown(() => socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  /** The number of connections. A last one, of this test, shows that all before it were counted. */
  const counted = async (): Promise<number> => {
    const last = connect(port, "127.0.0.1");
    await once(last, "connect");
    await until(() => ports.has(last.localPort));
    return ports.size - 1;
  };
  return { port, counted };
}

t.test("a folder that is a link to another one each time, as in Kubernetes, is read again", async (t) => {
  const mount = temporaryFolder(t);
  const replace = (version: string): void => {
    mkdirSync(join(mount, version));
    writeFileSync(join(mount, version, "token"), version);
    writeFileSync(join(mount, version, "token.targets"), "127.0.0.1");
    symlinkSync(version, join(mount, "..tmp"));
    renameSync(join(mount, "..tmp"), join(mount, "..data"));
  };
  replace("first");
  const transport = await loadTransport("http2", LIMITS, {}, new MemoryBudget({ maxBody: LIMITS.maxBody }));
  const connectTo = externalConnector({ credentials: join(mount, "..data"), transport });
  const { seen, port } = await serve(t);
  const options = { ...noServiceOptions(), ...token };
  const channel = connectTo(parseGrpcTarget(`127.0.0.1:${port}`), { service: "shop", options });
  t.teardown(() => channel.close());
  await statusOf(channel);
  t.match(seen, [{ authorization: "Bearer first" }]);
  replace("second");
  await until(async () => {
    await statusOf(channel);
    return seen.at(-1)?.authorization === "Bearer second";
  });
});

for (const name of ["http2", "grpc-js"] as const) {
  /** A folder of credentials, and channels with it. */
  const scene = async (t: Test) => {
    const folder = temporaryFolder(t);
    const write = (file: string, content: string | Buffer): void => writeFileSync(join(folder, file), content);
    const said: { level: number; msg: string; reason?: string }[] = [];
    const log = pino({ level: "trace" }, { write: (line) => said.push(JSON.parse(line)) });
    const certificates = { ca: authority.cert };
    const transport = await loadTransport(name, LIMITS, certificates, new MemoryBudget({ maxBody: LIMITS.maxBody }));
    const connectTo = externalConnector({ credentials: folder, transport, log });
    const open = (target: string, options: SecretOptions = token, more?: ConnectOptions): Channel => {
      const channel = connectTo(parseGrpcTarget(target), { service: "shop", options: options as never }, more);
      t.teardown(() => channel.close());
      return channel;
    };
    write("token", SECRET);
    write("token.targets", "127.0.0.1\nlocalhost\nshop.example");
    return { folder, write, said, open };
  };
  /** Calls until it succeeds: a channel may pause after a failed connection. */
  const succeeds = (channel: Channel): Promise<void> =>
    until(async () => {
      channel.connectSoon?.();
      return (await statusOf(channel)).code === Code.OK;
    });

  t.test(`${name}: each call shows the credential, and the caller's own header is not sent`, async (t) => {
    const { open, said } = await scene(t);
    const { seen, port } = await serve(t);
    const channel = open(`127.0.0.1:${port}`);
    const metadata: [string, string][] = [
      ["authorization", "Bearer of-the-caller"],
      ["x-tenant", "t1"],
    ];
    t.match(await statusOf(channel, metadata), { code: Code.OK });
    t.match(seen, [{ authorization: `Bearer ${SECRET}`, "x-tenant": "t1" }]);
    const key = open(`localhost:${port}`, { credential: { name: "token", header: "x-api-key" }, tls: undefined });
    t.match(await statusOf(key, [["x-api-key", "of-the-caller"]]), { code: Code.OK });
    t.match(seen[1], { "x-api-key": SECRET, authorization: undefined });
    t.same(said, []);
  });

  t.test(`${name}: the calls that verify a connection show it too`, async (t) => {
    const { open } = await scene(t);
    const { seen, port } = await serve(t);
    const verify = async (connection: Channel): Promise<boolean> => (await statusOf(connection)).code === Code.OK;
    t.match(await statusOf(open(`127.0.0.1:${port}`, token, { verify })), { code: Code.OK });
    t.match(seen, [{ authorization: `Bearer ${SECRET}` }, { authorization: `Bearer ${SECRET}` }]);
  });

  t.test(`${name}: a changed file counts within a second, on open connections too`, async (t) => {
    const { open, write, folder, said } = await scene(t);
    const { seen, port } = await serve(t);
    const channel = open(`127.0.0.1:${port}`);
    await succeeds(channel);
    const soon = { within: 1_500 };
    write("token", "renewed");
    await until(async () => {
      await statusOf(channel);
      return seen.at(-1)?.authorization === "Bearer renewed";
    }, soon);

    write("token.targets", "thief.example");
    await until(async () => (await statusOf(channel)).code === Code.UNAVAILABLE, soon);
    t.equal(channel.state, "broken", "other instances of the service are preferred");
    const calls = seen.length;
    t.match(await statusOf(channel), { message: "the service cannot be reached", neverSent: true });
    t.equal(seen.length, calls);
    const reason = `${join(folder, "token.targets")} does not list 127.0.0.1, so it is not shown the credential`;
    t.match(said, [{ level: 40, service: "shop", target: `127.0.0.1:${port}`, reason }], "the reason is logged once");

    write("token.targets", `127.0.0.1:${port}`);
    await until(async () => (await statusOf(channel)).code === Code.OK, soon);
    rmSync(join(folder, "token"));
    await until(async () => (await statusOf(channel)).code === Code.UNAVAILABLE, soon);
    t.match(said.slice(1), [
      { level: 30, msg: /can be used again$/ },
      { level: 40, reason: /token does not exist$/ },
    ]);
  });

  t.test(`${name}: a service without options gets no credential`, async (t) => {
    const { open } = await scene(t);
    const { seen, port } = await serve(t);
    await succeeds(open(`127.0.0.1:${port}`, { credential: undefined, tls: undefined }));
    t.same(
      seen.map(({ authorization }) => authorization),
      [undefined],
    );
  });

  t.test(`${name}: a target that may not be shown it gets no connection`, async (t) => {
    const { open, write } = await scene(t);
    write("token.targets", "shop.example");
    const thief = await trap(t);
    for (const target of [`127.0.0.1:${thief.port}`, `localhost:${thief.port}`, `grpcs://127.0.0.1:${thief.port}`]) {
      const channel = open(target);
      channel.connectSoon?.();
      t.match(await statusOf(channel), { code: Code.UNAVAILABLE }, target);
      t.equal(channel.state, "broken");
    }
    t.equal(await thief.counted(), 0);
  });

  t.test(`${name}: a name that resolves to another address shows it nothing`, async (t) => {
    const { open } = await scene(t);
    // The name is listed. Its address is now the thief's, whose certificate has another name.
    const thief = await serve(t, authority.issue("thief.example"));
    const plain = await trap(t);
    const ip = "127.0.0.1";
    const tls = open(`grpcs://shop.example:${thief.port}`, token, { ip });
    t.match(await statusOf(tls), { code: Code.UNAVAILABLE });
    t.match(await statusOf(open(`shop.example:${plain.port}`, token, { ip })), { code: Code.UNAVAILABLE });
    t.same([thief.seen, await plain.counted()], [[], 0]);
    const shop = await serve(t, authority.issue("shop.example"));
    await succeeds(open(`grpcs://shop.example:${shop.port}`, token, { ip }));
    t.match(shop.seen, [{ authorization: `Bearer ${SECRET}` }]);
  });

  t.test(`${name}: the list is read again at each connection, for calls that waited for it`, async (t) => {
    const { open, write } = await scene(t);
    const { seen, port } = await serve(t);
    const channel = open(`127.0.0.1:${port}`);
    const ended = statusOf(channel);
    write("token.targets", "elsewhere.example");
    t.match([await ended, seen], [{ code: Code.UNAVAILABLE }, []]);
  });

  t.test(`${name}: a redirect is not followed`, async (t) => {
    const { open } = await scene(t);
    const thief = await trap(t);
    const asked: unknown[] = [];
    const server = createHttp2Server((request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(307, { location: `http://127.0.0.1:${thief.port}/` }).end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.teardown(() => server.close());
    const channel = open(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    t.not((await statusOf(channel)).code, Code.OK);
    channel.close();
    t.same([asked, await thief.counted()], [[`Bearer ${SECRET}`], 0]);
  });

  t.test(`${name}: plain text never goes to the proxy in the environment`, async (t) => {
    const { open } = await scene(t);
    const proxy = await trap(t);
    const { seen, port } = await serve(t);
    process.env.http_proxy = `http://127.0.0.1:${proxy.port}`;
    t.teardown(() => delete process.env.http_proxy);
    await succeeds(open(`127.0.0.1:${port}`));
    t.match([seen, await proxy.counted()], [[{ authorization: `Bearer ${SECRET}` }], 0]);
  });

  t.test(`${name}: a service has TLS of its own: authority, client certificate and name`, async (t) => {
    const { open, write } = await scene(t);
    write("ca.pem", foreign.cert);
    const client = foreign.issue("portico");
    write("own.pem", client.cert);
    write("own.key", client.key);
    write("token.targets", "127.0.0.1\ninner.example");
    const { seen, port } = await serve(t, foreign.issue("inner.example"), foreign.cert);
    const tls = { ca: "ca.pem", cert: "own.pem", key: "own.key", serverName: "inner.example" };
    await succeeds(open(`grpcs://127.0.0.1:${port}`, { ...token, tls }));
    t.match(seen, [{ authorization: `Bearer ${SECRET}` }]);
    for (const [what, wrong] of [
      ["the authorities of the process", { ...tls, ca: "" }],
      ["no client certificate", { ...tls, cert: "", key: "" }],
      ["another name", { ...tls, serverName: "other.example" }],
    ] as const) {
      const channel = open(`grpcs://127.0.0.1:${port}`, { credential: undefined, tls: wrong });
      t.match(await statusOf(channel), { code: Code.UNAVAILABLE }, what);
    }
    t.equal(seen.length, 1);
  });

  t.test(`${name}: new connections use replaced certificates, and none is made with a wrong file`, async (t) => {
    const { open, write, said } = await scene(t);
    write("ca.pem", authority.cert);
    const tls = { ...NO_TLS, ca: "ca.pem" };
    const before = await serve(t, authority.issue("localhost"));
    const channel = open(`grpcs://127.0.0.1:${before.port}`, { credential: undefined, tls });
    await succeeds(channel);
    write("ca.pem", "half a file");
    await until(() => said.length === 1);
    t.match(said, [{ reason: /^ca\.pem has no PEM certificate/ }]);
    t.match(await statusOf(channel), { code: Code.UNAVAILABLE }, "an open connection takes no calls either");
    before.stop();
    await serve(t, foreign.issue("localhost"), null, before.port);
    write("ca.pem", foreign.cert);
    await succeeds(channel);
    t.equal(said.length, 2);
  });

  t.test(`${name}: files that come later are used at once`, async (t) => {
    const { open, write, folder } = await scene(t);
    rmSync(join(folder, "token"));
    const { seen, port } = await serve(t);
    const channel = open(`127.0.0.1:${port}`);
    t.match(await statusOf(channel), { code: Code.UNAVAILABLE, cause: { name: "SecretFileError" } });
    write("token", SECRET);
    await until(async () => (await statusOf(channel)).code === Code.OK, { within: 1_500 });
    t.match(seen, [{ authorization: `Bearer ${SECRET}` }]);
    channel.close();
    t.match(await statusOf(channel), { code: Code.UNAVAILABLE });
    t.equal(channel.state, "closed");
  });

  t.test(`${name}: no line of the log has the credential`, async (t) => {
    const { open, write, said } = await scene(t);
    const { port } = await serve(t);
    const channel = open(`127.0.0.1:${port}`);
    await succeeds(channel);
    write("token", `${SECRET} \n`);
    await until(() => said.length === 1);
    write("token", SECRET);
    await until(() => said.length === 2);
    t.notMatch(JSON.stringify(said), SECRET);
  });
}
