// A start that cannot succeed ends with one line that says why and what to do, and changes nothing.
import { chmodSync, cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { installation } from "../../support/installation.js";
import { refused } from "../../support/process.js";

// A store with data. The tests copy it and damage the copy.
const template = await installation(t.testdir());

const stores: [what: string, spoil: (file: string) => void, message: RegExp][] = [
  ["of another program", (file) => writeFileSync(file, "not a database".repeat(100)), /not a store of Portico/],
  ["empty", (file) => writeFileSync(file, ""), /is empty/],
  ["overwritten in the middle", (file) => overwrite(file, 0.3, 0.9), /portico\.sqlite.*damaged|damaged|checksum/],
  ["cut off", (file) => writeFileSync(file, readFileSync(file).subarray(0, 6000)), /damaged|malformed/],
  ["not readable", (file) => chmodSync(file, 0o000), /may not be read/],
];

function overwrite(file: string, from: number, to: number): void {
  const bytes = readFileSync(file);
  bytes.fill(0x5a, Math.floor(bytes.length * from), Math.floor(bytes.length * to));
  writeFileSync(file, bytes);
}

for (const [what, spoil, message] of stores) {
  const skip = what === "not readable" && process.getuid?.() === 0 ? "root may read everything" : false;
  t.test(`a store that is ${what} prevents the start and is left unchanged`, { skip }, async (t) => {
    const data = t.testdir();
    cpSync(template, data, { recursive: true });
    spoil(join(data, "portico.sqlite"));
    const before = readFileSync(join(data, "portico.sqlite"));
    const { code, output } = await refused(["server"], { PORTICO_DATA: data });
    t.equal(code, 1);
    t.match(output, message);
    t.notMatch(output, /password| {4}at /i, "no fresh installation, no stack");
    t.same(readFileSync(join(data, "portico.sqlite")), before);
  });
}

const settings: [variable: string, value: string, message: RegExp][] = [
  ["PORTICO_HTTP", "eight", /PORTICO_HTTP is "eight": must be host:port/],
  ["PORTICO_ADMIN_PASSWORD", "short", /PORTICO_ADMIN_PASSWORD.*12 to 128 characters/],
];
for (const [variable, value, message] of settings) {
  t.test(`${variable}=${value} prevents the start, with one line`, async (t) => {
    const data = join(t.testdir(), "data");
    const { code, output } = await refused(["server"], { PORTICO_DATA: data, [variable]: value });
    t.equal(code, 2);
    t.match(output, message);
    t.equal(output.trim().split("\n").length, 1);
  });
}

// In /proc, Node's `mkdir` with `recursive` never ends.
const noProc = existsSync("/proc/self") ? false : "there is no folder here in which nothing can be made";
for (const [where, file] of [
  ["in it", ""],
  ["elsewhere", "portico.sqlite"],
] as const) {
  t.test(`a data folder that cannot be created, with the store ${where}`, { skip: noProc }, async (t) => {
    const store = `sqlite:${file && join(t.testdir(), file)}`;
    const { code, output } = await refused(["server"], { PORTICO_DATA: "/proc/data", PORTICO_STORE: store });
    t.equal(code, 1);
    t.match(output, /^.*\/proc\/data.*: no such file or (?:folder|directory).*\n$/);
  });
}

t.test("the error for a port in use names the port", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  t.teardown(() => other.close());
  const port = (other.address() as { port: number }).port;
  const env = {
    PORTICO_DATA: t.testdir(),
    PORTICO_HTTP: `127.0.0.1:${port}`,
    PORTICO_GRPC: "127.0.0.1:0",
    PORTICO_ADMIN: "127.0.0.1:0",
  };
  const { code, output } = await refused(["server"], env);
  t.equal(code, 1);
  t.match(output, new RegExp(`127\\.0\\.0\\.1:${port} is in use.*PORTICO_HTTP`));
});
