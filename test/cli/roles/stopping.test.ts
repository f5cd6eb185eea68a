// A process that is stopping is not ready, and stays alive until its last call has ended.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import t from "tap";
import { installation } from "../../support/installation.js";
import { call, start } from "../../support/process.js";
import { MAX_WAIT } from "../../support/until.js";

/** More data than fits into the buffers of a connection that is not read. */
const LONG = `/helloworld/stream?messages=10000&name=${"a".repeat(4000)}`;

/** The first response at a path that is not 200. */
async function changed(url: string) {
  for (const late = AbortSignal.timeout(MAX_WAIT); ; ) {
    const response = await call(url);
    if (response.status !== 200) return response;
    if (late.aborted) throw new Error(`${url} still answers 200`);
  }
}

t.test("not ready after SIGTERM, and alive while a stream continues", async (t) => {
  const portico = await start(["server"], { PORTICO_DATA: await installation(t.testdir()) });
  t.teardown(() => portico.stop("SIGKILL"));
  const admin = portico.address("Metrics").replace("/metrics", "");
  const asked = get(portico.address("HTTP") + LONG, { agent: false });
  const [stream] = (await once(asked, "response")) as [IncomingMessage];
  await once(stream, "readable");
  portico.child.kill("SIGTERM");
  t.match(await changed(`${admin}/readyz`), { status: 503, body: { Detail: "Not ready: stopping" } });
  t.match(await call(`${admin}/livez`), { status: 200 });
  const ended = once(portico.child, "exit");
  stream.on("error", () => {}).destroy();
  t.strictSame(await ended, [0, null]);
});
