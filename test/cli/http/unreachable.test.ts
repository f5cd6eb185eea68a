// If a server uses another protocol than the address says, the error names the right address.
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import t, { type Test } from "tap";
import { createAuthority } from "../../http2/certificates.js";
import { portico } from "../command-line.js";

async function listen(t: Test, server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const { cert, key } = createAuthority("own").issue("localhost");
const TLS_ALERT = Buffer.from("15030100020250", "hex");

/** `{host}` is replaced by host and port of the server. */
const rows: [title: string, server: () => Server, scheme: string, said: string][] = [
  [
    "https on a plain port",
    () => createHttpServer(),
    "https",
    "{host} does not speak TLS. If it speaks plain HTTP, the address is http://{host}",
  ],
  // The server closes the connection without a response.
  [
    "http on Node's TLS port",
    () => createHttpsServer({ cert, key }),
    "http",
    "{host} speaks TLS, not plain HTTP. The address is https://{host}",
  ],
  [
    "http on a TLS port that answers with an alert",
    () => createServer((socket) => socket.once("data", () => socket.end(TLS_ALERT))),
    "http",
    "{host} speaks TLS, not plain HTTP. The address is https://{host}",
  ],
  [
    "a certificate of an unknown authority",
    () => createHttpsServer({ cert, key }),
    "https",
    "The certificate of {host} is not trusted: unable to verify the first certificate." +
      " Where its authority is your own, name that certificate's file in NODE_EXTRA_CA_CERTS.",
  ],
  [
    "a gRPC port",
    () => createHttp2Server(),
    "http",
    "{host} answers in HTTP/2 only: it may be the gRPC port. The address must be the gateway's, PORTICO_HTTP",
  ],
  [
    "a port of something else",
    () => createServer((socket) => socket.end("220 mail ready\r\n")),
    "http",
    "{host} does not respond in HTTP/1.1. The address must be the gateway's, PORTICO_HTTP",
  ],
];

for (const [title, server, scheme, said] of rows) {
  t.test(title, async (t) => {
    const host = await listen(t, server());
    const { exit, stderr } = await portico(["services", "--url", `${scheme}://${host}`]);
    t.equal(exit, 1);
    t.equal(stderr, `${said.replaceAll("{host}", host)}\n`);
  });
}
