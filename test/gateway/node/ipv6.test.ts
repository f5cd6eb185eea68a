// The port serves IPv6, and reports the IPv6 address of the client.
import { once } from "node:events";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import t from "tap";
import { listen } from "../../../gateway/node/listen.js";
import { config, get, response } from "./dial.js";

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === "::1"),
);

t.test("a client over IPv6", { skip: !hasIpv6 && "there is no IPv6 here" }, async (t) => {
  const port = await listen(({ remoteAddress }) => response(remoteAddress), { host: "::1", port: 0 }, config);
  t.teardown(() => port.close(0));
  t.equal(port.address.host, "::1");
  const socket = connect(port.address.port, "::1").setEncoding("latin1");
  t.teardown(() => socket.destroy());
  socket.write(get("/"));
  const [text] = await once(socket, "data");
  t.match(text, /\r\n\r\n::1$/);
});
