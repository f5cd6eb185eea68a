// Headers reach the gateway's core without the whitespace around their values (RFC 9112 §5.1). The
// time to remove it is proportional to the length.
import t from "tap";
import type { RequestHandler } from "../../../gateway/http/message.js";
import { dial, open, response } from "./dial.js";

const someHeader: RequestHandler = ({ rawHeaders }) =>
  response(encodeURIComponent(rawHeaders[rawHeaders.indexOf("X-Some") + 1] as string));

t.test("whitespace around a value is left out, whitespace within it stays", async (t) => {
  const gateway = await open(t, someHeader);
  const cases: readonly (readonly [sent: string, value: string])[] = [
    [" a", "a"],
    ["a", "a"],
    [" \t a b\tc \t", "a b\tc"],
    ["", ""],
    ["  \t", ""],
    // A no-break space is whitespace in Latin-1, but not in HTTP.
    ["\u00a0a\u00a0", "\u00a0a\u00a0"],
  ];
  for (const [sent, value] of cases) {
    const client = await dial(gateway);
    client.socket.end(`GET / HTTP/1.1\r\nHost: x\r\nX-Some:${sent}\r\n\r\n`, "latin1");
    const text = await client.rest();
    t.equal(text.slice(text.indexOf("\r\n\r\n") + 4), encodeURIComponent(value), encodeURIComponent(sent));
  }
});

t.test("a long value takes time in proportion to its length", async (t) => {
  const gateway = await open(t, someHeader, { maxHeaders: 1024 ** 2 });
  const value = `a${"\t".repeat(150_000)}b`;
  const began = performance.now();
  const client = await dial(gateway);
  client.socket.end(`GET / HTTP/1.1\r\nHost: x\r\nX-Some: ${value}\r\n\r\n`);
  t.ok((await client.rest()).endsWith(encodeURIComponent(value)));
  // A regular expression that backtracks for each tab takes minutes.
  t.ok(performance.now() - began < 10_000);
});
