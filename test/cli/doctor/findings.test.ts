// Each finding of `portico doctor` about a machine and its settings, with its cause made for real.
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import t, { type Test } from "tap";
import type { Finding } from "../../../cli/doctor/finding.js";
import { collectionOf } from "../../../src/store/collection.js";
import { openStore } from "../../../src/store/open.js";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";
import { temporaryFolder } from "../../support/temporary.js";
import { portico } from "../command-line.js";

/** Nothing listens on these ports. */
const FREE = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };

async function examine(words: readonly string[], env: NodeJS.ProcessEnv) {
  const { exit, stdout, stderr } = await portico(["doctor", ...words, "-o", "json"], { env: { ...FREE, ...env } });
  const findings: readonly Finding[] = stdout === "" ? [] : JSON.parse(stdout);
  return { exit, findings, stderr };
}

interface Case {
  readonly role: string;
  /** Causes the fault. Returns the settings of the role. */
  readonly cause: (t: Test, data: string) => Promise<NodeJS.ProcessEnv>;
  readonly finding: { readonly check: string; readonly state: string; readonly text: RegExp };
}

const cases: Readonly<Record<string, Case>> = {
  "a setting that cannot be used": {
    role: "server",
    cause: async () => ({ PORTICO_LEASE: "long" }),
    finding: { check: "settings", state: "problem", text: /^PORTICO_LEASE is "long": must be a time .* Correct it/ },
  },
  "a variable that nothing reads": {
    role: "server",
    cause: async () => ({ PORTICO_MAX_BODDY: "1MiB" }),
    finding: {
      check: "settings",
      state: "warning",
      text: /^Nothing reads PORTICO_MAX_BODDY: correct its name, or remove it; did you mean PORTICO_MAX_BODY\?/,
    },
  },
  "a variable that is similar to others by its beginning only": {
    role: "server",
    cause: async () => ({ PORTICO_FOO: "1" }),
    finding: {
      check: "settings",
      state: "warning",
      text: /^Nothing reads PORTICO_FOO: correct its name, or remove it$/,
    },
  },
  "a data folder that is not the one of the process that runs": {
    role: "server",
    cause: async (t, data) => {
      const server = await start(["server"], { PORTICO_DATA: data, PORTICO_OWN_SERVICES: "none" });
      t.teardown(() => server.stop());
      return { PORTICO_ADMIN: new URL(server.address("Metrics")).host, PORTICO_DATA: join(data, "other") };
    },
    finding: {
      check: "store",
      state: "warning",
      text: /^There is no store in .*other, but Portico responds at \S+ Run this with the settings of that process/,
    },
  },
  "a setting without effect on the role": {
    role: "server",
    cause: async () => ({ PORTICO_AUTHORITY: "127.0.0.1:1" }),
    finding: {
      check: "settings",
      state: "warning",
      text: /^PORTICO_AUTHORITY has no effect on portico server: remove/,
    },
  },
  "a port that another program has": {
    role: "server",
    cause: async (t) => ({ PORTICO_HTTP: await listen(t) }),
    finding: {
      check: "ports",
      state: "problem",
      text: /^Another program listens on 127\.0\.0\.1:\d+ \(PORTICO_HTTP\): stop it, or name another address in PORTICO_HTTP/,
    },
  },
  "a gRPC port that another program has": {
    role: "authority",
    cause: async (t) => ({ PORTICO_GRPC: await listen(t) }),
    finding: { check: "ports", state: "problem", text: /^Another program listens on .* \(PORTICO_GRPC\): stop it/ },
  },
  "an address that is not this machine's": {
    role: "gateway",
    cause: async () => ({ PORTICO_ADMIN: "192.0.2.1:8082" }),
    finding: { check: "ports", state: "problem", text: /cannot listen on 192\.0\.2\.1:8082.* in PORTICO_ADMIN/ },
  },
  "a store of a newer Portico": {
    role: "authority",
    cause: (_, data) => changeStore(data, "PRAGMA user_version = 7"),
    finding: { check: "store", state: "problem", text: /was written by a newer Portico: .* run that version/ },
  },
  "a store that another process has locked": {
    role: "authority",
    cause: async (t, data) => {
      const engine = new KeyvSqlite(`sqlite://${join(data, "portico.sqlite")}`);
      await engine.query("PRAGMA locking_mode = EXCLUSIVE");
      await engine.query("BEGIN EXCLUSIVE");
      t.teardown(() => engine.close());
      return {};
    },
    finding: { check: "store", state: "problem", text: /is locked by another process; stop that process/ },
  },
  "a store that was lost": {
    role: "server",
    cause: async (_, data) => {
      writeFileSync(join(data, "store-location"), join(data, "portico.sqlite"));
      rmSync(join(data, "portico.sqlite"));
      return {};
    },
    finding: { check: "store", state: "problem", text: /does not exist, but the data folder .* restore the store/ },
  },
  "a clock that is behind the store": {
    role: "authority",
    cause: async (_, data) => {
      const store = await openStore("sqlite:", data);
      await collectionOf(store, "time").create("9".repeat(16), `${Date.now() + 3 * 3_600_000} 1`);
      await store.close();
      return {};
    },
    finding: {
      check: "clock",
      state: "problem",
      text: /is 3 hours behind the newest time in the store, .*: set it right/,
    },
  },
  "a name that DNS does not know": {
    role: "gateway",
    cause: async () => ({ PORTICO_AUTHORITY: "authority.invalid:8081", PORTICO_ENROLMENT: "token" }),
    finding: {
      check: "DNS",
      state: "problem",
      text: /^authority\.invalid of PORTICO_AUTHORITY has no addresses .*: correct/,
    },
  },
  "an SRV name that DNS does not know": {
    role: "server",
    cause: async (_, data) => {
      const services = [{ name: "shop", target: "dns+srv://_grpc._tcp.shop.invalid" }];
      writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
      return {};
    },
    finding: {
      check: "DNS",
      state: "problem",
      text: /_grpc\._tcp\.shop\.invalid of the service shop has no SRV records/,
    },
  },
  "an authority that does not run": {
    role: "gateway",
    cause: async () => ({ PORTICO_AUTHORITY: "127.0.0.1:1", PORTICO_ENROLMENT: "token" }),
    finding: { check: "authority", state: "problem", text: /^The authority at 127\.0\.0\.1:1 .*Start it, or correct/ },
  },
  "a certificate that has expired": {
    role: "gateway",
    cause: async (t) => certified(t, -1),
    finding: {
      check: "certificates",
      state: "problem",
      text: /^The certificate in PORTICO_HTTP_TLS_CERT has expired \(valid from .*: replace it/,
    },
  },
  "a certificate in its last days": {
    role: "gateway",
    cause: async (t) => certified(t, 5),
    finding: { check: "certificates", state: "warning", text: /PORTICO_HTTP_TLS_CERT expires soon .*: replace it/ },
  },
  "a second certificate that has expired": {
    role: "gateway",
    cause: async (t) => {
      const [first, second] = [certified(t, 90), certified(t, -1, ["*.two.example", "three.example"])];
      return Object.fromEntries(Object.entries(first).map(([name, path]) => [name, `${path}:${second[name]}`]));
    },
    finding: {
      check: "certificates",
      state: "problem",
      text: /^The certificate in PORTICO_HTTP_TLS_CERT for \*\.two\.example, three\.example has expired /,
    },
  },
  "a certificate without its key": {
    role: "gateway",
    cause: async (t) => ({ ...certified(t, 90), PORTICO_HTTP_TLS_KEY: "" }),
    finding: {
      check: "certificates",
      state: "problem",
      text: /PORTICO_HTTP_TLS_CERT is set without PORTICO_HTTP_TLS_KEY/,
    },
  },
  "no enrolment token": {
    role: "gateway",
    cause: async (t) => ({ PORTICO_DATA: t.testdir() }),
    finding: {
      check: "authority",
      state: "problem",
      text: /^no enrolment token: .*portico auth create enrolment gateway/,
    },
  },
};

const DAY_MS = 86_400_000;
const authority = createAuthority("authority");

/** @param to in days from now */
function certified(t: Test, to: number, names = ["localhost"]): NodeJS.ProcessEnv {
  const validity = [new Date(Date.now() - 90 * DAY_MS), new Date(Date.now() + to * DAY_MS)] as const;
  const { cert, key } = authority.issue("localhost", validity, names);
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "cert"), cert);
  writeFileSync(join(folder, "key"), key);
  return { PORTICO_HTTP_TLS_CERT: join(folder, "cert"), PORTICO_HTTP_TLS_KEY: join(folder, "key") };
}

/** Another program than Portico. */
async function listen(t: Test): Promise<string> {
  const server = createServer((socket) => socket.end("220 mail.example ESMTP\r\n").on("error", () => {}));
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function changeStore(data: string, statement: string): Promise<NodeJS.ProcessEnv> {
  const engine = new KeyvSqlite(`sqlite://${join(data, "portico.sqlite")}`);
  await engine.query(statement);
  await engine.close();
  return {};
}

for (const [name, { role, cause, finding }] of Object.entries(cases)) {
  t.test(name, async (t) => {
    const data = await installation(join(t.testdir(), "data"));
    const env = { PORTICO_DATA: data, ...(await cause(t, data)) };
    const { findings, exit } = await examine([role], env);
    const { check, state, text } = finding;
    const found = findings.filter((one) => one.check === check && one.state === state && text.test(one.text));
    t.equal(found.length, 1, JSON.stringify(findings.filter((one) => one.check === check)));
    t.equal(
      exit === 1,
      findings.some((one) => one.state === "problem"),
      "1 only if there is a problem",
    );
  });
}

t.test("variables that Kubernetes sets for its Services are no mistakes", async (t) => {
  const { findings } = await examine(["server"], {
    PORTICO_DATA: t.testdir(),
    PORTICO_GATEWAY_SERVICE_HOST: "10.0.0.1",
    PORTICO_GATEWAY_PORT_8080_TCP: "tcp://10.0.0.1:8080",
    PORTICO_PORT: "tcp://10.0.0.1:8080",
  });
  t.same(
    findings.filter(({ check, state }) => check === "settings" && state !== "ok"),
    [],
  );
});

t.test("a secret in a setting is not printed", async (t) => {
  const url = "postgres://portico:hunter2@127.0.0.1:1/portico";
  const secrets = { PORTICO_ENROLMENT: "hunter2", PORTICO_TOKEN: "hunter2", PORTICO_ADMIN_PASSWORD: "hunter2" };
  const env = { ...secrets, PORTICO_STORE: url, PORTICO_DATA: t.testdir(), PORTICO_URL: "http://127.0.0.1:1" };
  for (const role of ["server", "gateway"]) t.notMatch(JSON.stringify(await examine([role], env)), "hunter2");
});
