// The version of HTTP on a connection: over TLS the version that ALPN has negotiated, otherwise the
// version that the first bytes show.
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import t, { type Test } from "tap";
import { createAuthority } from "../../http2/certificates.js";
import { dial, echo, get, open } from "./dial.js";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** A SETTINGS frame without settings. */
const SETTINGS = "\0\0\0\x04\0\0\0\0\0";
/**
 * The beginning of the port's SETTINGS, and GOAWAY with PROTOCOL_ERROR, in hexadecimal (RFC 9113
 * §4.1, §6.8).
 */
const SETTINGS_OF_PORT = /^0000..04(?:00){5}/;
const GOAWAY = /07(?:00){9}00000001/;

const toHex = (text: string): string => Buffer.from(text, "latin1").toString("hex");
const authority = createAuthority("authority");
const tls = authority.issue("localhost");

/**
 * Sends bytes over TLS. Resolves with the first bytes of the response, or with all if the port
 * closes the connection.
 */
async function overTls(t: Test, protocols: readonly string[], bytes: string, whole = true): Promise<string> {
  const { address } = await open(t, echo, { tls });
  const options = { ca: authority.cert, servername: "localhost", ALPNProtocols: [...protocols] };
  const socket = connect({ ...options, host: "127.0.0.1", port: address.port });
  t.teardown(() => socket.destroy());
  socket.write(bytes, "latin1");
  if (whole) return text(socket.setEncoding("latin1"));
  return new Promise((resolve, reject) => {
    socket.setEncoding("latin1").once("data", resolve).once("error", reject);
  });
}

t.test("the preface of HTTP/2 is an error where TLS has negotiated HTTP/1.1", async (t) => {
  const got = await overTls(t, ["http/1.1"], `${PREFACE}${SETTINGS}`);
  t.match(got, /^HTTP\/1\.1 505 /);
});

t.test("the preface counts where TLS has negotiated no protocol", async (t) => {
  t.match(toHex(await overTls(t, [], `${PREFACE}${SETTINGS}`, false)), SETTINGS_OF_PORT);
});

t.test("an HTTP/1.1 request is rejected where TLS has negotiated HTTP/2", async (t) => {
  const got = await overTls(t, ["h2"], get("/p"));
  t.notMatch(got, /HTTP\/1\.1/);
  t.match(toHex(got), GOAWAY);
});

t.test("without TLS the preface counts only as the first bytes", async (t) => {
  const port = await open(t, echo);
  const first = await dial(port);
  first.socket.write(`${PREFACE}${SETTINGS}`, "latin1");
  t.match(toHex(await first.until(/./s)), SETTINGS_OF_PORT);
  first.socket.destroy();
  const second = await dial(port);
  second.socket.write(`${get("/p")}${PREFACE}`, "latin1");
  t.match(await second.rest(), /^HTTP\/1\.1 200 .*\/p 0$/s);
});

t.test("Transfer-Encoding in HTTP/1.0 is rejected, and the connection closed", async (t) => {
  for (const coding of ["chunked", "gzip", "identity"]) {
    const client = await dial(await open(t, echo));
    client.socket.write(
      `POST /p HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n${get("/behind")}`,
    );
    const got = await client.rest();
    t.match(got, /^HTTP\/1\.1 400 /);
    t.notMatch(got, /behind/);
  }
});
