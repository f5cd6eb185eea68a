// gRPC's interoperability cases: grpc-go's client calls grpc-go's service through the HTTP port of
// a server. To install them, Go is needed once.
//
// These cases are left out: cases that need Google's accounts or computers (compute_engine_creds,
// service_account_creds, jwt_token_creds, per_rpc_creds, oauth2_auth_token,
// google_default_credentials, compute_engine_channel_credentials); orca_oob, which asks one backend
// for its load; and pick_first_unary and orca_per_rpc, which fail at grpc-go's service without
// Portico, too. The service sends no server ID, and the client learns loads only from a balancer of
// its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createAuthority } from "../../../http2/certificates.js";
import { goProgram, run } from "../../../outside/tools.js";
import { descriptors } from "../../../rpc/http2/interop/messages.js";
import { installation } from "../../../support/installation.js";
import { freePort } from "../../../support/ports.js";
import { administrator, call, type Portico, start } from "../../../support/process.js";
import { inTime, until } from "../../../support/until.js";

t.setTimeout(240_000);

const VERSION = "v1.85.0";
const client = goProgram("google.golang.org/grpc/interop/client", VERSION);
const server = goProgram("google.golang.org/grpc/interop/server", VERSION);

const CASES = [
  ...["empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream"],
  ...["cancel_after_begin", "cancel_after_first_response", "timeout_on_sleeping_server", "custom_metadata"],
  ...["status_code_and_message", "special_status_message", "unimplemented_method", "unimplemented_service"],
  ...["rpc_soak", "channel_soak"],
];

/** Starts grpc-go's service. @returns its port */
async function startService(t: Test): Promise<number> {
  const port = await freePort();
  const child = spawn(server as string, ["-port", `${port}`], { stdio: "ignore" });
  t.teardown(() => child.kill());
  await inTime(once(child, "spawn"), "the start of grpc-go's service");
  return port;
}

/** Starts Portico with the service. All metadata passes. */
async function startPortico(t: Test, data: string, env: Record<string, string> = {}): Promise<Portico> {
  const target = `127.0.0.1:${await startService(t)}`;
  writeFileSync(join(data, "interop.binpb"), descriptors);
  const services = [{ name: "interop", target, descriptors: "interop.binpb", metadata: ["*"] }];
  writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
  const portico = await start(["server", "--services", "none"], { PORTICO_DATA: data, ...env });
  t.teardown(() => portico.stop());
  return portico;
}

async function runCase(portico: Portico, name: string, more: readonly string[]): ReturnType<typeof run> {
  const { port } = new URL(portico.address("HTTP"));
  return run(client as string, ["-server_host", "127.0.0.1", "-server_port", port, "-test_case", name, ...more]);
}

/** Runs a case until the service has been found, and then each case once. */
async function runAll(t: Test, portico: Portico, more: readonly string[] = []): Promise<void> {
  await until(async () => (await runCase(portico, "empty_unary", more)).status === 0);
  for (const name of CASES) {
    await t.test(name, async (t) => {
      const { status, output } = await runCase(portico, name, more);
      t.equal(status, 0, status === 0 ? "passes" : output.slice(-2_000));
    });
  }
}

const options = { skip: (client === undefined || server === undefined) && "there is no Go here" };

t.test("in plain text, with a token", options, async (t) => {
  const data = await installation(t.testdir());
  const portico = await startPortico(t, data);
  const http = portico.address("HTTP");
  const admin = await administrator(http, data);
  const rule = { id: "interop", scope: "<public>", access: "DENIED", priority: 1, resource: "service:interop:*" };
  await call(`${http}/v1/auth/Rules/Create`, { rule }, admin);
  const granted = { id: "admin", scope: "admin", access: "GRANTED", priority: 2, resource: "service:interop:*" };
  await call(`${http}/v1/auth/Rules/Create`, { rule: granted }, admin);
  await runAll(t, portico, ["-additional_metadata", `authorization:${admin.authorization}`]);
  const { status, output } = await runCase(portico, "empty_unary", []);
  t.not(status, 0);
  t.match(output, /Unauthorized call made to interop:TestService.EmptyCall/, "without it the rule refuses");
});

t.test("over TLS", options, async (t) => {
  const authority = createAuthority("authority");
  const own = authority.issue("localhost");
  const folder = t.testdir({ "ca.pem": authority.cert, "own.pem": own.cert, "own.key": own.key, data: {} });
  const portico = await startPortico(t, await installation(join(folder, "data")), {
    PORTICO_HTTP_TLS_CERT: join(folder, "own.pem"),
    PORTICO_HTTP_TLS_KEY: join(folder, "own.key"),
  });
  const trusted = ["-ca_file", join(folder, "ca.pem"), "-server_host_override", "localhost"];
  await runAll(t, portico, ["-use_tls", "-use_test_ca", ...trusted]);
});
