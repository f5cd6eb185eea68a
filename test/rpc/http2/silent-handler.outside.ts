// A call whose handler is silent for 90 s succeeds, and its connection stays open. grpc-go and
// gRPC's C core (in Python) close a connection that gets PINGs more often than they allow.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import type { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { channelTo } from "../../http2/serve.js";
import { goProgram, pythonPrograms } from "../../outside/tools.js";
import { freePort } from "../../support/ports.js";

const SILENCE_MS = 90_000;

const go = goProgram("google.golang.org/grpc/interop/server", "v1.85.0");
const python = pythonPrograms("grpcio==1.78.2");

const SERVER = `
import sys, time
from concurrent import futures
import grpc

def silent(requests, context):
    for _ in requests: pass
    time.sleep(${SILENCE_MS / 1000})
    yield b"a"

class Any(grpc.GenericRpcHandler):
    def service(self, call):
        return grpc.stream_stream_rpc_method_handler(silent)

server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((Any(),))
server.add_insecure_port("127.0.0.1:" + sys.argv[1])
server.start()
server.wait_for_termination()
`;

/** grpc.testing.StreamingOutputCallRequest: one response of one byte, after SILENCE_MS. */
function slowRequest(): Buffer {
  const interval = SILENCE_MS * 1000;
  const varint: number[] = [];
  for (let rest = interval; rest > 0; rest = Math.floor(rest / 128))
    varint.push((rest % 128) + (rest >= 128 ? 128 : 0));
  const parameters = [0x08, 1, 0x10, ...varint];
  return Buffer.from([0x12, parameters.length, ...parameters]);
}

const SERVERS: [name: string, program: string | undefined, args: (port: number) => string[], path: string][] = [
  ["grpc-go", go, (port) => ["-port", `${port}`], "/grpc.testing.TestService/StreamingOutputCall"],
  ["Python", python && join(python, "python"), (port) => ["-c", SERVER, `${port}`], "/any.Any/Call"],
];

// The tests run in parallel, because each is silent all the time.
t.jobs = SERVERS.length;
for (const [name, program, args, path] of SERVERS) {
  if (program === undefined) t.test(name, { skip: "it is not here" }, async () => {});
  else t.test(name, { buffered: true }, (t) => survives(t, program, args, path));
}

async function survives(t: Test, program: string, args: (port: number) => string[], path: string): Promise<void> {
  const port = await freePort();
  const child = spawn(program, args(port), { stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  const channel = channelTo(t, { host: "127.0.0.1", port });
  while (channel.state !== "ready") await new Promise((resolve) => setTimeout(resolve, 20));
  const began = Date.now();
  t.same(await call(channel, path, slowRequest()), { code: Code.OK, messages: 1 });
  t.ok(Date.now() - began >= SILENCE_MS, "it was silent");
  t.equal(channel.state, "ready", "on a connection that stays");
}

function call(channel: Http2Channel, path: string, request: Buffer): Promise<{ code: Code; messages: number }> {
  return new Promise((resolve) => {
    let messages = 0;
    const start = { path, metadata: [], deadlineMonotonicMs: performance.now() + 2 * SILENCE_MS };
    const opened = channel.open(start, {
      onMessage: () => messages++,
      onEnd: ({ code }) => resolve({ code, messages }),
    });
    opened.send(request);
    opened.end();
  });
}
