// A caller assertion must not be sent in plain text over a network.
import t from "tap";
import { parseExternalService } from "../../src/config/configured-services.js";

const cases: readonly (readonly [target: string, isAccepted: boolean])[] = [
  ["127.0.0.1:9000", true],
  ["127.1.2.3:9000", true],
  ["[::1]:9000", true],
  ["localhost:9000", true],
  ["unix:/run/shop.sock", true],
  ["grpcs://shop.example:9000", true],
  ["dns+srvs://_grpc._tcp.shop.example", true],
  ["dns+srv://_grpc._tcp.shop.example", false],
  ["shop.example:9000", false],
  ["10.0.0.1:9000", false],
  ["127.0.0.1.example:9000", false],
  ["localhost.example:9000", false],
];

for (const [target, isAccepted] of cases) {
  t.test(`to ${target} it is ${isAccepted ? "sent" : "refused"}`, async (t) => {
    const read = (): unknown => parseExternalService({ name: "shop", target: [target], assertion: true }, "/");
    const message = `assertion is sent over TLS, to a loopback address or a unix socket only, not to ${target}: use grpcs:// or dns+srvs://`;
    if (isAccepted) t.ok(read());
    else t.throws(read, { message });
  });
}
