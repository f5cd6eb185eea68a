// h2spec, the conformance suite for HTTP/2 servers, against the HTTP port. Go is needed once, to
// install it.
import t from "tap";
import { createAuthority } from "../../../http2/certificates.js";
import { goProgram, run } from "../../../outside/tools.js";
import { echo, open } from "../dial.js";

t.setTimeout(300_000);

const h2spec = goProgram("github.com/summerwind/h2spec/cmd/h2spec", "v2.2.1+incompatible");

/** The names of the tests that fail, and the line with the totals. */
async function failures(port: number, ...more: readonly string[]): Promise<{ failed: string[]; totals: string }> {
  const parameters = ["-h", "127.0.0.1", "-p", `${port}`, "--path", "/p", "--strict", "-o", "2", ...more];
  const { output } = await run(h2spec as string, parameters);
  const shown = output.includes("Failures:") ? output.slice(output.indexOf("Failures:")) : "";
  const failed = [...shown.matchAll(/× \d+: (.*)/g)].map(([, name]) => name as string);
  return { failed, totals: output.match(/\d+ tests, .*/)?.[0] ?? output.slice(0, 500) };
}

t.test("by prior knowledge", { skip: h2spec === undefined && "there is no Go here" }, async (t) => {
  const { address } = await open(t, echo);
  const { failed, totals } = await failures(address.port);
  // Bytes that are not the preface are taken for HTTP/1.1. The port responds with 400 before it
  // closes the connection.
  t.same(failed, ["Sends invalid connection preface"], totals);
  t.match(totals, /^14\d tests/);
});

t.test("over TLS", { skip: h2spec === undefined && "there is no Go here" }, async (t) => {
  const { address } = await open(t, echo, { tls: createAuthority("authority").issue("localhost") });
  const { failed, totals } = await failures(address.port, "-t", "-k");
  t.same(failed, [], totals);
  t.match(totals, /^14\d tests/);
});
