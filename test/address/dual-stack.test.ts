// A port that listens for IPv6 and IPv4 reports a client with IPv4 by its IPv4 address, as a proxy
// names it. So limits for each address, records and logs have one text for one client.
import { once } from "node:events";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import t from "tap";
import { listen } from "../../gateway/node/listen.js";
import { unary } from "../../src/rpc/client.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import { config, get, response } from "../gateway/node/dial.js";
import { RawService, rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === "::1"),
);
const skip = !hasIpv6 && "there is no IPv6 here";
const BOTH = { host: "::", port: 0 };

t.test("the HTTP port", { skip }, async (t) => {
  const port = await listen(({ remoteAddress }) => response(remoteAddress), BOTH, config);
  t.teardown(() => port.close(0));
  const socket = connect(port.address.port, "127.0.0.1").setEncoding("latin1");
  t.teardown(() => socket.destroy());
  socket.write(get("/"));
  const [text] = await once(socket, "data");
  t.match(text, /\r\n\r\n127\.0\.0\.1$/);
});

for (const [transport, serve] of Object.entries({ http2: serveHttp2, "grpc-js": serveGrpc })) {
  t.test(`the gRPC port: ${transport}`, { skip }, async (t) => {
    const service = rawService({ one: (_, { clientAddress }) => Buffer.from(clientAddress) });
    const server = await serve(dispatcherOf([service]), BOTH, LIMITS);
    t.teardown(() => server.close(0));
    const { port } = server.address as { port: number };
    const channel = new Http2Channel({ host: "127.0.0.1", port });
    t.teardown(() => channel.close());
    t.equal(`${await unary(channel, RawService.one, Buffer.from("a"), {})}`, "127.0.0.1");
  });
}
