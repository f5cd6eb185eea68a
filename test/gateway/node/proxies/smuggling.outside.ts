// A proxy and the port always agree where a request ends. Whatever bytes a client sends through the
// proxy, the port finds no request that the proxy does not know. The next request over the same
// connection gets its own response.
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import t from "tap";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { FULL } from "../../../support/full.js";
import { open, response } from "../dial.js";
import { corpus, printable } from "../differential/corpus.js";
import { Mutations } from "../differential/mutations.js";
import { isMissing, PROXIES, startProxy } from "./proxies.js";

const SEED = Number(process.env.SEED ?? (FULL ? Date.now() % 2 ** 31 : 16));
const MUTATED = FULL ? 10_000 : 300;
/** In milliseconds. */
const MAX_WAIT = 20_000;
const TOO_LATE = `(and then nothing for ${MAX_WAIT} ms)`;

/** Sends bytes and FIN. Resolves with the response when the proxy has closed the connection. */
async function exchange(port: number, bytes: Buffer): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {}); // A reset counts as an end here.
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.end(bytes);
  socket.setTimeout(MAX_WAIT, () => {
    text += TOO_LATE;
    socket.destroy();
  });
  await closed;
  return text;
}

function* inputs(): Generator<Buffer> {
  const cases = corpus();
  for (const { bytes } of cases) yield bytes;
  const mutations = new Mutations(SEED, cases);
  for (let count = 0; count < MUTATED; count++) yield mutations.next();
}

console.error(`note: seed ${SEED}`);
t.jobs = PROXIES.length;
for (const proxy of PROXIES) {
  t.test(`through ${proxy.name}`, { skip: isMissing(proxy) }, async (t) => {
    const mark = randomUUID();
    const unmarked: string[] = [];
    const handler: RequestHandler = async (request) => {
      const { method, target, rawHeaders } = request;
      if (method !== "" && !rawHeaders.includes(mark)) unmarked.push(`${method} ${target}`);
      if (request.error !== undefined) return response("fault", request.error.status);
      try {
        await request.body();
      } catch {
        return response("refused", 400);
      }
      return response(target);
    };
    const { address } = await open(t, handler);
    const port = await startProxy(t, proxy, `127.0.0.1:${address.port}`, mark);
    const failures: string[] = [];
    let calls = 0;
    for (const bytes of inputs()) {
      const came = await exchange(port, bytes);
      if (came.includes("/canary") && !bytes.includes("/canary")) failures.push(printable(bytes));
      if (came.endsWith(TOO_LATE)) failures.push(`${printable(bytes)}: ${came}`);
      const target = `/check-${calls++}`;
      const checked = await exchange(
        port,
        Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      );
      if (!checked.endsWith(target)) failures.push(`after ${printable(bytes)}: ${checked}`);
      if (unmarked.length > 0) failures.push(`${printable(bytes)} made ${unmarked.splice(0)}`);
    }
    t.same(
      failures.map((failure) => failure.slice(0, 2_000)),
      [],
    );
    t.ok(calls > 500);
  });
}
