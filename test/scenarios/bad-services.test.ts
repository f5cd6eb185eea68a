// Services that are given wrongly, at a real terminal: each is refused in one line, and nothing of
// it is added.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createAuthority } from "../http2/certificates.js";
import { compile } from "../services/registry/compile.js";
import { installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { replay } from "./transcript.js";

const SHOP = `syntax = "proto3"; package p; import "other.proto"; service Shop { rpc Call(other.M) returns (other.M); }`;
const OTHER = `syntax = "proto3"; package other; message M {}`;

/** The folder in which the commands run. Below it are the files of PORTICO_CREDENTIALS. */
function folder(t: Test): string {
  const whole = compile(join(temporaryFolder(t), "protos"), { "shop.proto": SHOP, "other.proto": OTHER });
  const own = createAuthority("authority").issue("portico");
  return t.testdir({
    credentials: { "own.pem": own.cert, "text.pem": "no certificate" },
    "whole.binpb": whole,
    // Without other.proto, which comes first. 5 bytes of tags and lengths precede the second name.
    "lacking.binpb": whole.subarray(whole.indexOf("shop.proto") - 5),
    "text.binpb": "no descriptors",
    "large.binpb": Buffer.alloc(1024 ** 2 + 1),
    "large.json": JSON.stringify({ services: [{ name: "large", target: "127.0.0.1:1", descriptors: "large.binpb" }] }),
    "10mb.yaml": "# nothing\n".repeat(1024 ** 2),
    "512kib.yaml": "# nothing".padEnd(512 * 1024),
    "broken.yaml": "http:\n  rules: [\n",
  });
}

/** An HTTP server that knows nothing of gRPC. */
async function webServer(t: Test): Promise<string> {
  const server = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test("services that are given wrongly, at a terminal", async (t) => {
  const cwd = folder(t);
  const credentials = join(cwd, "credentials");
  const data = await installation(temporaryFolder(t));
  const portico = await start(["server"], {
    PORTICO_DATA: data,
    PORTICO_OWN_SERVICES: "helloworld",
    PORTICO_HTTP: "127.0.0.1:0",
    PORTICO_CREDENTIALS: credentials,
  });
  t.teardown(() => portico.stop());
  const values = {
    folder: cwd,
    credentials,
    free: `127.0.0.1:${await freePort()}`,
    web: await webServer(t),
    grpc: portico.address("gRPC"),
  };
  const transcript = readFileSync("test/scenarios/bad-services.txt", "utf8");
  await replay(t, transcript, { url: portico.address("HTTP"), data, cwd, values });
});
