// The address of a gRPC server, as it is written in settings, in the configuration file and in the
// registry.
import t from "tap";
import { formatGrpcTarget, type GrpcTarget, parseGrpcTarget } from "../../../src/address/address.js";

const targets: [text: string, target: GrpcTarget][] = [
  ["127.0.0.1:8081", { host: "127.0.0.1", port: 8081 }],
  ["[::1]:8081", { host: "::1", port: 8081 }],
  ["grpcs://greeter.internal:443", { host: "greeter.internal", port: 443, tls: true }],
  ["grpcs://[::1]:443", { host: "::1", port: 443, tls: true }],
  ["unix:/run/greeter.sock", { path: "/run/greeter.sock" }],
];

for (const [text, target] of targets) {
  t.test(`reads and writes ${text}`, async (t) => {
    t.same(parseGrpcTarget(text), target);
    t.equal(formatGrpcTarget(target), text);
  });
}

t.test("a Unix socket may be written as a URL", async (t) => {
  t.same(parseGrpcTarget("unix:///run/greeter.sock"), { path: "/run/greeter.sock" });
});

const refused: [text: string, message: RegExp][] = [
  ["", /^must be host:port, grpcs:\/\/host:port \(with TLS\) or unix:\/path$/],
  ["greeter", /must be host:port/],
  ["greeter:65536", /must be host:port/],
  ["https://greeter:443", /must be host:port/],
  ["grpcs://greeter", /must be host:port/],
  ["grpcs://greeter:443/path", /must be host:port/],
  ["grpcs://grpcs://greeter:443", /must be host:port/],
  ["unix:", /must be unix: and an absolute path/],
  ["unix:greeter.sock", /must be unix: and an absolute path/],
  ["unix://greeter.sock", /must be unix: and an absolute path/],
  ["unix:/with space", /must be unix: and an absolute path/],
  [`unix:/${"a".repeat(107)}`, /of 107 ASCII characters at most/],
];

for (const [text, message] of refused) {
  t.test(`refuses ${JSON.stringify(text.slice(0, 40))}`, async (t) => {
    t.throws(() => parseGrpcTarget(text), { name: "SyntaxError", message });
  });
}
