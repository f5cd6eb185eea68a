// A call is the same, however its body is cut into chunks by the client or by the network.
// Characters of several bytes, escapes and numbers may be cut anywhere.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { anyCharacter } from "../../support/characters.js";
import { fc } from "../../support/properties.js";
import { type Deployment, deploy } from "../deployment.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());

const text = fc.string({ unit: anyCharacter, maxLength: 30 });

/**
 * JSON with every possible character escaped, or none. Now and then text follows that makes it
 * invalid.
 */
const body = fc
  .tuple(
    fc.record({
      text,
      words: fc.array(text),
      counts: fc.dictionary(text, fc.nat()),
      ratio: fc.double({ noNaN: true }),
    }),
    fc.boolean(),
    fc.constantFrom("", "", "", "}", "\u0000"),
  )
  .map(([message, escapes, after]) => Buffer.from((escapes ? escaped : String)(JSON.stringify(message)) + after));

function escaped(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const cuts = fc.uniqueArray(fc.nat(1000), { maxLength: 12 });

t.test("a body cut anywhere gives the same response as the whole body", async (t) => {
  let accepted = 0;
  let refused = 0;
  const property = fc.asyncProperty(body, cuts, fc.boolean(), async (body, cuts, chunked) => {
    const places = cuts.map((cut) => cut % (body.length + 1)).sort((a, b) => a - b);
    const chunks = [0, ...places].map((start, at) => body.subarray(start, places[at] ?? body.length));
    const whole = await send(deployment, head(`Content-Length: ${body.length}`), [body]);
    if (whole.startsWith("200 ")) accepted++;
    else if (whole.startsWith("400 ")) refused++;
    const cut = chunked
      ? await send(deployment, head("Transfer-Encoding: chunked"), inChunks(chunks))
      : await send(deployment, head(`Content-Length: ${body.length}`), chunks);
    assert.equal(cut, whole);
  });
  await fc.assert(property, { numRuns: 50 });
  t.ok(accepted > 10 && refused > 1 && accepted + refused === 50, `${accepted} were accepted, ${refused} refused`);
});

const head = (length: string): string =>
  `POST /probe HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n${length}\r\n\r\n`;

function inChunks(pieces: readonly Buffer[]): Buffer[] {
  const some = pieces.filter((chunk) => chunk.length > 0);
  const chunks = some.map((chunk) => Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, END]));
  return [...chunks, Buffer.from("0\r\n\r\n")];
}

const END = Buffer.from("\r\n");

/** Status and body of the response to a request whose body is sent chunk by chunk. */
async function send({ gateway }: Deployment, head: string, chunks: readonly Buffer[]): Promise<string> {
  const socket = connect(gateway.address.port, "127.0.0.1").setNoDelay().setEncoding("utf8");
  let response = "";
  socket.on("data", (text) => {
    response += text;
  });
  const closed = once(socket, "close");
  for (const chunk of [Buffer.from(head), ...chunks]) {
    await new Promise((resolve) => socket.write(chunk, resolve));
    // Lets the server, which runs in this process, read the chunk.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  const [, status, rest] = /^HTTP\/1\.1 (\d+) .*?\r\n\r\n(.*)$/s.exec(response) ?? [];
  return `${status} ${rest}`;
}
