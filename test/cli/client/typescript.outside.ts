// Clients in TypeScript pass tsc in its strictest mode and biome, and call a running gateway.
import { copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import t from "tap";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";
import { openHostileGateway, openTestGateway, portico, run } from "./test-gateway.js";

t.setTimeout(300_000);
const gateway = await openTestGateway(t);
const folder = temporaryFolder(t);
const SERVICES = ["helloworld", "auth", "registry", "kinds", "probe", "studio", "awkward"];
for (const service of SERVICES) await portico(gateway, "client", service, "--lang", "ts", "--dir", folder);
writeFileSync(join(folder, "package.json"), '{"type":"module"}');
symlinkSync(resolve("node_modules"), join(folder, "node_modules"));

/** The client of a service. Its messages have no static types here. */
async function clientOf(service: string, options: object = gateway) {
  const outfile = join(folder, `${service}.js`);
  await build({ entryPoints: [join(folder, `${service}.ts`)], outfile, format: "esm", platform: "neutral" });
  const { Portico } = await import(pathToFileURL(outfile).href);
  return new Portico(options)[service];
}

async function collect<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const message of messages) all.push(message);
  return all;
}

/** The errors of tsc under its strictest rules. */
async function typeErrors(files: readonly string[], options: object): Promise<string> {
  const strict = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noImplicitOverride: true },
    ...{ noUnusedLocals: true, noUnusedParameters: true, noPropertyAccessFromIndexSignature: true },
    ...{ verbatimModuleSyntax: true, isolatedModules: true, erasableSyntaxOnly: true, noEmit: true, target: "es2022" },
  };
  const config = { compilerOptions: { ...strict, ...options }, files };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return (await run(resolve("node_modules/.bin/tsc"), ["-p", folder])).stdout;
}

const BROWSER = { lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable"], types: [], module: "preserve" };
const NODE = { lib: ["es2022"], types: ["node"], module: "nodenext" };

/** A program that compiles only if 64-bit integers are bigint in responses. */
const INTEGERS = `import { Portico } from "./kinds.js";
const { kinds } = new Portico();
const { int64 } = await kinds.maps({ int64: { "-1": 1n, "1": "1", "2": 2 } });
export const values: bigint[] = Object.values(int64);
export const one: bigint = await kinds.wrapped(1n);
// @ts-expect-error: it is no string.
export const text: string = one;
`;

t.test("they compile under the strictest rules, for Node and for browsers", async (t) => {
  writeFileSync(join(folder, "integers.ts"), INTEGERS);
  const files = [...SERVICES.map((service) => `${service}.ts`), "integers.ts"];
  t.equal(await typeErrors(files, BROWSER), "");
  t.equal(await typeErrors(files, NODE), "");
});

t.test("the client of a malicious contract compiles too, and does nothing", async (t) => {
  await portico(await openHostileGateway(t), "client", "hostile", "--lang", "ts", "--dir", folder);
  t.equal(await typeErrors(["hostile.ts"], NODE), "");
  await clientOf("hostile");
  t.notOk("INJECTED" in globalThis);
});

t.test("a field that is not in the contract does not compile", async (t) => {
  const code = 'import { Portico } from "./helloworld.js";\nawait new Portico().helloworld.call({ nam: "Ada" });\n';
  writeFileSync(join(folder, "mistaken.ts"), code);
  t.match(await typeErrors(["mistaken.ts"], NODE), /'nam' does not exist in type 'CallRequest'/);
});

t.test("biome finds no problems in them", async (t) => {
  const args = ["lint", "--error-on-warnings", ...SERVICES.map((service) => `${service}.ts`)];
  const { status, stderr } = await run(resolve("node_modules/.bin/biome"), args, { cwd: folder });
  t.equal(status, 0, stderr);
});

t.test("the package's client has the services of the catalogue", async (t) => {
  const code = `import { Portico, type helloworld } from ${JSON.stringify(resolve("dist/client/index.js"))};
const portico = new Portico();
const answer: helloworld.CallResponse = await portico.helloworld.call({ name: "Ada" });
const { rules } = await portico.auth.rules.list();
console.log(answer.message, rules.map(({ id }) => id));
`;
  writeFileSync(join(folder, "catalogue.ts"), code);
  t.equal(await typeErrors(["catalogue.ts"], NODE), "");
  const env = { PORTICO_URL: gateway.url, PORTICO_TOKEN: gateway.token };
  const { stdout, stderr } = await run(resolve("node_modules/.bin/tsx"), ["catalogue.ts"], { cwd: folder, env });
  t.same({ stdout, stderr }, { stdout: "Hello Ada [ 'default' ]\n", stderr: "" });
});

t.test("a call, and a stream", async (t) => {
  const client = await clientOf("helloworld");
  t.same(await client.call({ name: "Ada" }), { message: "Hello Ada", msg: "Hello Ada" });
  const greetings = await collect(client.stream({ name: "Ada", messages: 3n }));
  t.same(greetings, Array(3).fill({ message: "Hello Ada", msg: "Hello Ada" }));
});

t.test("a value of every type arrives as it was sent", async (t) => {
  const client = await clientOf("kinds");
  const big = 2n ** 63n - 1n;
  const bytes = new Uint8Array([0, 255, 128]);
  const nested = { int64: -1n, color: "COLOR_RED" };
  const sent = {
    double: Number.NaN,
    float: 1.5,
    int64: big,
    uint64: "18446744073709551615",
    bytes,
    bool: true,
    nested,
  };
  const response = await client.call({ ...sent, string: '\u2028 "*/', color: "COLOR_BLUE" });
  t.match(response, { double: "NaN", float: 1.5, int64: big, uint64: 2n ** 64n - 1n, bytes: "AP+A" });
  t.match(response, {
    bool: true,
    string: '\u2028 "*/',
    color: "COLOR_BLUE",
    nested: { int64: -1n, color: "COLOR_RED" },
  });
  const time = new Date("2026-01-31T12:00:00.125Z");
  const known = await client.wellKnown({
    timestamp: time,
    duration: "1.5s",
    mask: "a,b",
    struct: { a: [null] },
    string: "",
  });
  t.match(known, { timestamp: time.toISOString(), duration: "1.500s", mask: "a,b", struct: { a: [null] }, string: "" });
  t.match(await client.maps({ int64: { "-5": 5n }, bool: { true: false } }), {
    int64: { "-5": 5n },
    bool: { true: false },
  });
  t.same(await client.choice({ number: 0, yes: true }), { number: 0, yes: true });
  t.equal(await client.wrapped(big), big);
});

t.test("64-bit integers are bigint wherever they are in a message, and the same message can be sent", async (t) => {
  const [kinds, awkward] = [await clientOf("kinds"), await clientOf("awkward")];
  const [low, high] = [-(2n ** 63n), 2n ** 64n - 1n];
  const types = { int64: low, uint64: high, sint64: low, fixed64: high, sfixed64: low };
  const message = { ...types, lastColor: "COLOR_NONE" };
  const mapped = (value: (one: bigint) => unknown) =>
    Object.fromEntries(Object.entries(types).map(([name, one]) => [name, value(one)]));
  const holds = (response: object, sent: object) => t.strictSame({ ...response, ...sent }, response);
  holds(await kinds.call(types), types);
  holds(await kinds.optional(types), types);
  const [lists, maps] = [mapped((one) => [0n, one]), mapped((one) => ({ [`${one}`]: one, "1": 0n }))];
  holds(await kinds.lists(lists), lists);
  holds(await kinds.lists({ message: [types] }), { message: [message] });
  holds(await kinds.maps(maps), maps);
  holds(await kinds.maps({ message: { a: types } }), { message: { a: message } });
  t.strictSame(await kinds.choice({ message: types }), { message });
  holds(await kinds.wellKnown({ int64: low, uint64: 0n }), { int64: low, uint64: 0n });
  for (const response of await collect<object>(kinds.watch(types))) holds(response, types);
  const conversation = await collect<object>(kinds.converse([types, { nested: types }]));
  t.equal(conversation.length, 2);
  holds(conversation[0] ?? {}, types);
  t.match(conversation[1], { nested: { int64: low } });

  const leaf = { children: [], byName: {}, size: high, sizes: { "-1": low } };
  const tree = { ...leaf, children: [leaf, { ...leaf, byName: { a: leaf } }] };
  t.strictSame(await awkward.typing(tree), tree);
  t.strictSame(await collect(awkward.contextlib([tree, leaf])), [tree, leaf]);
  const opaque = {
    dataclasses: { "@type": "type.googleapis.com/awkward.Tree", ...JSON.parse('{"size":"1","children":[]}') },
    dict: { size: "1" },
    go: 5n,
    wrappedList: [low, 0n],
  };
  const { dataclasses, dict, go, wrappedList } = await awkward.recv([opaque]);
  t.strictSame([dataclasses.size, dict, go, wrappedList], ["1", { size: "1" }, 5n, [low, 0n]], "JSON stays JSON");
});

t.test("names that have a meaning in a language or in a client", async (t) => {
  const client = await clientOf("awkward");
  // As text, because a linter rejects objects with a member `then`.
  const text = `{"class": {"inner": {"type": "class", "self": "-9223372036854775808"}}, "lambda": {"-1": "AA=="}, "then": "t",
    "range": {"true": "mro"}, "func": {"4294967295": "Infinity"}, "import": ["None", 7], "with": {"type": "class", "self": "0"},
    "error": "ERROR_UNSPECIFIED", "Id": "1", "Code": "404", "wrappedUint64": "18446744073709551615", "wrappedBytes": "",
    "time": ["-0.000000001s"], "dict": {"then": [null]}, "any": "text", "typing": "a,bC.d", "empty": {}, "toJson": "j",
    "dataclasses": {"@type": "type.googleapis.com/awkward.Class", "class": "x"}, "a-b \\"c\\"": "odd", "constructor": "c",
    "5": "five", "URLPath": "u"}`;
  const sent = JSON.parse(text);
  t.match(await client.call(sent), sent);
  t.match(
    await client.import({ Id: 2n ** 63n - 1n, bytes: new Uint8Array([0]), wrappedDouble: Number.NaN, null: null }),
    {
      ...{ Id: 2n ** 63n - 1n, bytes: "AA==", wrappedDouble: "NaN", null: null },
    },
  );
  t.match(await collect(client.send([sent, sent])), [sent, sent]);
  t.match(await client.recv([{}, sent]), sent);
  const thenable = JSON.parse('{"then": {"socket": {"send": "ERROR_CLASS"}}}');
  t.same(await client.then_(thenable), thenable);
  t.same(await client.constructor_({ client: {} }), { client: {} });
  t.same(await client.close(), {});
  t.same(await client.class({ class: "x" }), { class: "x" });
  t.same(await collect(client.bind()), [{}]);
  t.equal(await client.int(-(2n ** 63n)), -(2n ** 63n));
  t.same(await client.value([null]), [null]);
  t.same(await client.default.default({ class: "y" }), { class: "y" });
  t.same(await collect(client.default.awkward([{ class: "z" }])), [{ class: "z" }]);
});

t.test("raw bytes in requests and responses", async (t) => {
  const client = await clientOf("studio");
  const data = new Uint8Array([1, 2, 3]);
  t.match(await client.upload({ contentType: "image/png", data }), { contentType: "image/png", bytes: 3 });
  t.match(await client.store({ contentType: "video/mp4", data: new Blob([data]) }), {
    contentType: "video/mp4",
    bytes: 3,
  });
  await client.add({ title: "Bob", file: data });
  t.same(await client.show({ title: "Bob" }), { contentType: "image/png", data });
});

t.test("a stream in both directions", async (t) => {
  const client = await clientOf("studio");
  t.same(await collect(client.talk([{ text: "Hello" }, { text: "Good night" }])), [
    { text: "Hello to you" },
    { text: "Good night to you" },
  ]);
});

t.test("without packages, only sending streams may fail, and the error says what Node 20 needs", async (t) => {
  const alone = temporaryFolder(t);
  copyFileSync("dist/client/index.js", join(alone, "client.mjs"));
  const code = `import { Portico, PorticoClient } from "./client.mjs";
class Studio extends PorticoClient {
  studio = this.bind("studio", { talk: { path: "/studio/Talk", shape: "bidi" } });
}
const { helloworld } = new Portico();
console.log((await helloworld.call({ name: "Ada" })).message);
for await (const { message } of helloworld.stream({ name: "Bob", messages: 1 })) console.log(message);
try {
  for await (const { text } of new Studio().studio.talk([{ text: "Hello" }])) console.log(text);
} catch ({ message }) {
  console.log(message);
}
`;
  writeFileSync(join(alone, "main.mjs"), code);
  const env = { PORTICO_URL: gateway.url, PORTICO_TOKEN: gateway.token };
  const { stdout, stderr } = await run(process.execPath, ["main.mjs"], { cwd: alone, env });
  t.same({ stdout, stderr }, { stdout: "Hello Ada\nHello Bob\nHello to you\n", stderr: "" });
});

t.test("an error of the caller's own messages fails the call", async (t) => {
  const client = await clientOf("studio");
  async function* broken() {
    yield { text: "Hello" };
    throw new Error("no more words");
  }
  await t.rejects(collect(client.talk(broken())), { message: "no more words" });
});

t.test("leaving the loop over a stream ends the call", async (t) => {
  const client = await clientOf("studio");
  let ended = false;
  async function* words() {
    try {
      for (;;) yield { text: "Hello" };
    } finally {
      ended = true;
    }
  }
  for await (const response of client.talk(words())) {
    t.same(response, { text: "Hello to you" });
    break;
  }
  await until(() => ended);
  t.ok(ended, "also the messages that it was to send");
});

t.test("an error has its members, and the service's details", async (t) => {
  const client = await clientOf("probe");
  const detail = { detailType: "type.googleapis.com/google.rpc.ErrorInfo", detailValue: new Uint8Array([10, 1, 65]) };
  await t.rejects(client.fail({ code: 9, message: "not now", ...detail }), {
    name: "PorticoError",
    message: "not now (400 Bad Request)",
    Id: "probe",
    Code: 400,
    Detail: "not now",
    Status: "Bad Request",
    Details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "A" }],
    requestId: /./,
  });
});

t.test("a deadline ends the call, and the service sees that it ended", async (t) => {
  const client = await clientOf("probe");
  await t.rejects(client.hang({}, { timeout: 300 }), { name: "PorticoError", Code: 504 });
  const { timeLeft } = await client.tell({}, { timeout: 20_000 });
  t.ok(Number(timeLeft) > 0 && Number(timeLeft) <= 20_000);
});

t.test("a signal ends a call, and a stream in both directions", async (t) => {
  const probe = await clientOf("probe");
  const studio = await clientOf("studio");
  const signal = AbortSignal.abort(new Error("enough"));
  await t.rejects(probe.hang({}, { signal }), { message: "enough" });
  const controller = new AbortController();
  const hanging = probe.hang({}, { signal: controller.signal });
  controller.abort(new Error("enough of that"));
  await t.rejects(hanging, { message: "enough of that" });
  await t.rejects(collect(studio.talk([], { signal })), { message: "enough" });
});

t.test("a token that is not valid is refused, also on a WebSocket", async (t) => {
  const options = { url: gateway.url, token: "pta_wrong" };
  const refused = { name: "PorticoError", Code: 401, Status: "Unauthorized" };
  await t.rejects((await clientOf("helloworld", options)).call({ name: "Ada" }), refused);
  await t.rejects(collect((await clientOf("helloworld", options)).stream({ name: "Ada" })), refused);
  await t.rejects(collect((await clientOf("studio", options)).talk([{ text: "Hello" }])), refused);
});

t.test("rules decide about a call without a token, after the rule for all callers is deleted", async (t) => {
  const { rules } = await clientOf("auth");
  await rules.create({ rule: { id: "accounts", access: "GRANTED", scope: "*", resource: "*:*:*" } });
  await rules.delete({ id: "default" });
  t.match(await rules.list(), { rules: [{ id: "accounts", access: "GRANTED", priority: 0 }] });
  const nobody = await clientOf("helloworld", { url: gateway.url, token: "" });
  const Detail = "Unauthorized call made to helloworld:Helloworld.Call";
  await t.rejects(nobody.call({ name: "Ada" }), { name: "PorticoError", Code: 401, Detail });
  t.match(await (await clientOf("helloworld")).call({ name: "Ada" }), { message: "Hello Ada" });
});
