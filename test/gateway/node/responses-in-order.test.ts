// Bytes after a request whose response the client has not read yet, where they are not just one
// more request. Their response comes neither before that response nor within it.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import type { BodySink } from "../../../gateway/http/body.js";
import type { GatewayResponse, RequestHandler } from "../../../gateway/http/message.js";
import { listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config/config.js";
import { fc } from "../../support/properties.js";
import type { HttpPort } from "./dial.js";

const get = (target: string, more = ""): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const upgrade = (to: string): string => get("/upgrade", `Connection: Upgrade\r\nUpgrade: ${to}\r\n`);

/** More than systems buffer for a client. */
const LENGTH = 32 * 1024 ** 2;

function response(body: string): GatewayResponse {
  return { status: 200, headers: ["Content-Length", String(body.length)], body, length: body.length };
}

interface TestGateway extends HttpPort {
  /** Ends the response of `/stream`. */
  finish(): void;
}

async function open(t: Test): Promise<TestGateway> {
  let sink: BodySink | undefined;
  const body = {
    open(it: BodySink) {
      sink = it;
      it.write(Buffer.from("begun"));
    },
    onDrain() {},
  };
  const handler: RequestHandler = async ({ target }) => {
    if (target === "/large") return response("x".repeat(LENGTH));
    return target === "/stream" ? { status: 200, headers: [], body, length: 0 } : response(target);
  };
  const gateway = await listen(handler, { host: "127.0.0.1", port: 0 }, loadConfig({}, {}));
  t.teardown(() => gateway.close(0));
  const finish = (): void => {
    sink?.write(Buffer.from("done"));
    sink?.end();
  };
  return Object.assign(gateway, { finish });
}

async function dial(t: Test, { address }: HttpPort): Promise<Socket> {
  const socket = connect(address.port, "127.0.0.1").setEncoding("latin1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Resolves with the received text, when it matches or the connection is closed. */
async function until(socket: Socket, pattern: RegExp): Promise<string> {
  const chunks: string[] = [];
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk);
    if (pattern.test(chunk)) break;
  }
  return chunks.join("");
}

for (const [name, bytes, responses, last] of [
  ["an upgrade that is ignored", upgrade("h2c"), 3, /\/next$/],
  ["an upgrade to a WebSocket, which is refused,", upgrade("websocket"), 2, /\/upgrade$/],
  ["a request for a tunnel", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 2, /x:1$/],
] as const) {
  for (const before of ["/large", "/stream"]) {
    t.test(`${name} after ${before} gets its response afterwards, and the process continues`, async (t) => {
      const gateway = await open(t);
      const socket = await dial(t, gateway);
      socket.write(get(before));
      await once(socket, "readable");
      socket.write(bytes);
      socket.write(get("/next"));
      const came = until(socket, last);
      await new Promise((resolve) => setTimeout(resolve, 50));
      gateway.finish();
      const text = await came;
      t.equal(text.split("HTTP/1.1 ").length - 1, responses);
      const second = text.indexOf("HTTP/1.1 ", 1);
      const end = before === "/large" ? "xxxxx" : "0\r\n\r\n";
      t.equal(text.slice(second - 5, second), end, "not within the response before");
      const other = await dial(t, gateway);
      other.write(get("/other"));
      t.match(await until(other, /\/other$/), /200 OK/);
    });
  }
}

t.test("after a stream, bytes that are no request: the stream ends completely, then the connection", async (t) => {
  const gateway = await open(t);
  const socket = await dial(t, gateway);
  socket.write(get("/stream"));
  await once(socket, "readable");
  socket.write("garbage\r\n\r\n");
  const came = until(socket, /\/never$/);
  await new Promise((resolve) => setTimeout(resolve, 50));
  gateway.finish();
  const text = await came;
  t.equal(text.split("HTTP/1.1 ").length - 1, 1);
  t.match(text, /begun.*done\r\n0\r\n\r\n$/s);
});

t.test("the process continues, whatever a client asks for at once, and whenever it disconnects", async (t) => {
  const gateway = await open(t);
  const asked = fc.array(fc.constantFrom("/small", "/large", "/small"), { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(asked, fc.nat({ max: 15 }), fc.boolean(), fc.boolean(), async (targets, ms, reads, resets) => {
      const socket = await dial(t, gateway);
      if (reads) socket.resume();
      socket.write(targets.map((target) => get(target)).join(""));
      await new Promise((resolve) => setTimeout(resolve, ms));
      if (resets) socket.resetAndDestroy();
      else socket.destroy();
    }),
    { numRuns: 20 },
  );
  const other = await dial(t, gateway);
  other.write(get("/other"));
  t.match(await until(other, /\/other$/), /200 OK/);
});
