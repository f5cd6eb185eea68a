// `portico services add` and `remove` with `--config` change the services in the configuration
// file, and nothing else in it.
import { once } from "node:events";
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join, resolve } from "node:path";
import t, { type Test } from "tap";
import { EXIT } from "../../../cli/terminal/exit.js";
import { type Address, formatAddress } from "../../../src/address/address.js";
import { parseTimeout } from "../../../src/call/metadata.js";
import { dispatcherOf, listen } from "../../rpc/serve.js";
import { compile } from "../../services/registry/compile.js";
import { buildAnnotated } from "../../support/descriptors.js";
import { freePort } from "../../support/ports.js";
import { temporaryFolder } from "../../support/temporary.js";
import { inTime } from "../../support/until.js";
import { portico } from "../command-line.js";

const SHOP = { name: "shop", target: "127.0.0.1:9000" };

/** Runs `portico services` with a data folder. Its portico.json has the given content, if any. */
function services(t: Test, before?: object) {
  const data = t.testdir(before === undefined ? {} : { "portico.json": JSON.stringify(before) });
  const file = join(data, "portico.json");
  return {
    data,
    file,
    run: (...args: string[]) =>
      portico(["services", ...args, "--config", file], { env: { PORTICO_DATA: data, PORTICO_CREDENTIALS: files } }),
    content: () => JSON.parse(readFileSync(file, "utf8")),
  };
}

t.test("add creates the file if it does not exist", async (t) => {
  const { run, file, content } = services(t);
  const { exit, stdout } = await run("add", "shop", "127.0.0.1:9000");
  t.same({ exit, stdout }, { exit: EXIT.ok, stdout: `Service added to ${file}\n` });
  t.same(content(), { services: [SHOP] });
});

t.test("add preserves the other members of the file, its mode, and a link to it", async (t) => {
  const { file, content, data } = services(t, { maxBody: "1MiB", services: [SHOP] });
  chmodSync(file, 0o640);
  const umask = process.umask(0o077);
  t.teardown(() => process.umask(umask));
  const link = join(data, "link.json");
  symlinkSync(file, link);
  const args = ["add", "orders", "127.0.0.1:1", "127.0.0.1:2", "--descriptors", "x.binpb", "--identity"];
  await portico(["services", ...args, "--config", link]);
  const descriptors = resolve("x.binpb");
  const orders = { name: "orders", target: ["127.0.0.1:1", "127.0.0.1:2"], descriptors, identity: true };
  t.same(content(), { maxBody: "1MiB", services: [SHOP, orders] });
  t.equal(statSync(file).mode & 0o777, 0o640);
  t.same(readdirSync(data).sort(), ["link.json", "portico.json"]);
});

t.test("a command that changes the file waits while another one does, and not for one that was killed", async (t) => {
  const { run, data, file, content } = services(t, { services: [SHOP] });
  const draft = `${file}.new`;
  const draftFrom = (ms: number) => {
    writeFileSync(draft, "of another command");
    utimesSync(draft, new Date(ms), new Date(ms));
  };
  draftFrom(Date.now() + 3_600_000);
  const { exit, stderr } = await run("add", "orders", "127.0.0.1:1");
  t.equal(exit, EXIT.failed);
  t.match(stderr, `Another command changes ${file}. If none does, delete ${draft}, and try again`);
  t.same(content(), { services: [SHOP] });
  draftFrom(Date.now() - 3_600_000);
  t.equal((await run("add", "orders", "127.0.0.1:1")).exit, EXIT.ok);
  t.same(content(), { services: [SHOP, { name: "orders", target: "127.0.0.1:1" }] });
  t.same(readdirSync(data), ["portico.json"]);
});

t.test("add writes the names of metadata, and the prefix of REST paths", async (t) => {
  const { run, content } = services(t);
  await run("add", "shop", "127.0.0.1:9000", "--metadata", "x-tenant", "--metadata", "x-cost", "--prefix", "/api");
  t.same(content(), { services: [{ ...SHOP, metadata: ["x-tenant", "x-cost"], bindings: { prefix: "/api" } }] });
});

t.test("remove removes the service with that name", async (t) => {
  const { run, file, content } = services(t, { services: [SHOP, { ...SHOP, name: "orders" }] });
  const { stdout } = await run("remove", "orders");
  t.equal(stdout, `Service removed from ${file}\n`);
  t.same(content(), { services: [SHOP] });
});

const source = `syntax = "proto3"; package p; import "other.proto"; service Shop { rpc Call(other.M) returns (other.M); }`;
const other = `syntax = "proto3"; package other; message M {}`;
const both = compile(join(temporaryFolder(t), "protos"), { "shop.proto": source, "other.proto": other });
const files = t.testdir({
  "text.pem": "no certificate",
  "large.yaml": "# nothing\n".repeat(1024 ** 2),
  // Without other.proto, which comes first. 5 bytes of tags and lengths precede the second name.
  "lacking.binpb": both.subarray(both.indexOf("shop.proto") - 5),
});

const refused: [what: string, args: string[], message: RegExp][] = [
  ["a name that is there", ["add", "shop", "127.0.0.1:1"], /"shop" is there twice/],
  ["a name of Portico's own", ["add", "auth", "127.0.0.1:1"], /"auth" is reserved/],
  ["what is no address", ["add", "orders", "nowhere"], /^Nothing was added: target: must be host:port/],
  [
    "a name of metadata that never passes",
    ["add", "x", "127.0.0.1:1", "--metadata", "cookie"],
    /metadata must be a list/,
  ],
  [
    "a prefix that is no path",
    ["add", "x", "127.0.0.1:1", "--prefix", "api"],
    /bindings must be an object such as {"prefix": "\/api"}/,
  ],
  [
    "HTTP rules of 10 MB",
    ["add", "x", "127.0.0.1:1", "--http-rules", join(files, "large.yaml")],
    /^Nothing was added: .*httpRules has 10485760 bytes; at most 256 KiB are accepted\n$/,
  ],
  [
    "descriptors that lack an import",
    ["add", "x", "127.0.0.1:1", "--descriptors", join(files, "lacking.binpb")],
    /^Nothing was added: .*descriptors lack other\.proto, which shop\.proto imports.*\n$/,
  ],
  [
    "options that do not fit together",
    ["add", "x", "127.0.0.1:1", "--cert", "own.pem"],
    /^Nothing was added: .*cert and key belong together.*\n$/,
  ],
  [
    "options for TLS without a target that has it",
    ["add", "x", "127.0.0.1:1", "--ca", "text.pem"],
    /^Nothing was added: ca, cert, key and serverName are for TLS, and no target has it.*\n$/,
  ],
  [
    "a file for TLS that is no PEM",
    ["add", "x", "grpcs://127.0.0.1:1", "--ca", "text.pem"],
    /^Nothing was added: text\.pem has no PEM certificate.*\n$/,
  ],
  [
    "a file for TLS that is no PEM, and descriptors in a file",
    ["add", "x", "grpcs://127.0.0.1:1", "--ca", "text.pem", "--descriptors", join(files, "none.binpb")],
    /^Nothing was added: text\.pem has no PEM certificate.*\n$/,
  ],
  ["to remove what is not there", ["remove", "orders"], /has no service orders/],
];
for (const [what, args, message] of refused) {
  t.test(`rejects ${what}, and changes nothing`, async (t) => {
    const { run, content, data } = services(t, { services: [SHOP] });
    const { exit, stdout, stderr } = await run(...args);
    t.not(exit, EXIT.ok);
    t.equal(stdout, "");
    t.match(stderr, message);
    t.same(content(), { services: [SHOP] });
    t.same(readdirSync(data), ["portico.json"]);
  });
}

t.test("rejects a file that it does not understand", async (t) => {
  const { run, file } = services(t, {});
  writeFileSync(file, "{");
  const { exit, stderr } = await run("add", "shop", "127.0.0.1:9000");
  t.equal(exit, EXIT.usage);
  t.match(stderr, /portico\.json cannot be read/);
  t.equal(readFileSync(file, "utf8"), "{");
});

/** A server that returns this contract by reflection, and implements no endpoint. */
async function reflecting(t: Test, grpcService: string, descriptors: Uint8Array): Promise<string> {
  const parts = [{ grpcService, load: () => Promise.reject(new Error("not called")) }];
  const { address } = await listen(t, dispatcherOf([{ name: "library", descriptors, parts }]));
  return formatAddress(address as Address);
}

const LIBRARY = buildAnnotated("test/gateway/dialects/http-rule", "library.proto");
const FAULTS = [
  /^Not served as library declares it: library:Library\.Shadow: GET \/lib\/\{nothing\}: /m,
  /^Not served as library declares it: .*GET \/console\/\{name\} is below \/console, which is Portico's own$/m,
];

const SOURCES: [title: string, args: (t: Test, folder: string) => Promise<string[]>][] = [
  [
    "a descriptor file",
    async (_, folder) => {
      const file = join(folder, "library.binpb");
      writeFileSync(file, LIBRARY);
      return ["127.0.0.1:1", "--descriptors", file];
    },
  ],
  ["its server", async (t) => [await reflecting(t, "library.Library", LIBRARY)]],
  [
    "the one of its servers that answers",
    async (t) => [`127.0.0.1:${await freePort()}`, await reflecting(t, "library.Library", LIBRARY)],
  ],
];
for (const [title, args] of SOURCES) {
  t.test(`add reports what is not served of the contract in ${title}`, async (t) => {
    const { run, content, data } = services(t, {});
    const { exit, stderr } = await run("add", "library", ...(await args(t, data)));
    t.equal(exit, EXIT.ok);
    for (const error of FAULTS) t.match(stderr, error);
    t.equal(content().services.length, 1);
  });
}

t.test("add adds the service, and says that the contract cannot be read, if no server listens", async (t) => {
  const { run, content } = services(t, {});
  const { exit, stderr } = await run("add", "shop", `127.0.0.1:${await freePort()}`);
  t.equal(exit, EXIT.ok);
  t.match(stderr, /^The contract of shop cannot be read now: 127\.0\.0\.1:/);
  t.match(stderr, /cannot be reached \(.*ECONNREFUSED.*\); start it, or/);
  t.match(stderr, /portico services tells what is not served\n$/);
  t.equal(content().services.length, 1);
});

/** Listens until the test ends, even if the command still has a connection. */
async function silent(t: Test, server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server, "listening");
  return formatAddress({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
}

t.test("add waits at most two seconds for servers that accept connections and never respond", async (t) => {
  const { run, content } = services(t, {});
  // This server responds to everything in HTTP/2 except calls, so only the deadline of a call ends
  // the call.
  const waiting = createHttp2Server();
  const timeouts: (number | undefined)[] = [];
  waiting.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    timeouts.push(parseTimeout(`${headers["grpc-timeout"]}`));
  });
  const targets = [await silent(t, waiting), await silent(t, createServer())];
  const { exit, stderr } = await inTime(run("add", "shop", ...targets), "the command's end");
  t.equal(exit, EXIT.ok);
  t.match(stderr, `The contract of shop cannot be read now: ${targets[0]} cannot be reached (`);
  t.equal(content().services.length, 1);
  t.equal(timeouts.length, 1);
  t.ok(timeouts[0]! <= 2_000, `${timeouts[0]} ms`);
});

t.test("rejects a server whose contract Portico cannot serve, and changes nothing", async (t) => {
  const { run, content, data } = services(t, {});
  const source = `syntax = "proto3"; package portico.shop; message M {} service Shop { rpc None(M) returns (M); }`;
  const target = await reflecting(t, "portico.shop.Shop", compile(join(data, "protos"), { "shop.proto": source }));
  const { exit, stderr } = await run("add", "shop", target);
  t.equal(exit, EXIT.usage);
  t.match(stderr, /^Nothing was added: 127\.0\.0\.1:\d+: .*portico\.shop\.Shop/);
  t.strictSame(content(), {});
});
