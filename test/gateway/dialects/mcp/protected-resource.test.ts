// The gateway's address in the metadata: the configured one, or else the one that the client used.
import { once } from "node:events";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import t from "tap";
import { readHeaders } from "../../../../gateway/http/headers.js";
import type { GatewayRequest } from "../../../../gateway/http/message.js";
import { ProtectedResource } from "../../../../gateway/http/protected-resource.js";
import { deploy } from "../../deployment.js";

const SET = "https://api.example.com";
const cases: [
  what: string,
  options: ConstructorParameters<typeof ProtectedResource>[0],
  headers: string[],
  origin: string,
][] = [
  ["the host of the request", {}, ["Host", "door.test:8080"], "http://door.test:8080"],
  ["no host", {}, [], "http://localhost"],
  ["a port that speaks TLS", { httpTlsCert: ["/cert.pem"] }, ["Host", "door.test"], "https://door.test"],
  ["the configured address", { publicUrl: SET }, ["Host", "door.test"], SET],
  ["a host that is forged", { publicUrl: SET }, ["Host", "evil.test", "X-Forwarded-Proto", "http"], SET],
];

for (const [what, options, headers, origin] of cases) {
  t.test(what, async (t) => {
    const resource = new ProtectedResource(options);
    const request = { headers: readHeaders(headers), rawHeaders: headers } as unknown as GatewayRequest;
    t.match(JSON.parse(String(resource.metadata("/.well-known/oauth-protected-resource/mcp", request).body)), {
      resource: `${origin}/mcp`,
    });
    const [, challenge] = resource.challenge(request, undefined);
    t.equal(challenge, `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`);
  });
}

for (const [who, trustedProxies, scheme] of [
  ["a trusted proxy", "127.0.0.1", "https"],
  ["a client that forges the header", "none", "http"],
  ["a client that is not the trusted proxy", "192.0.2.1", "http"],
] as const) {
  t.test(`X-Forwarded-Proto of ${who}`, async (t) => {
    const { gateway, close } = await deploy(t.testdir(), { flags: { trustedProxies } });
    t.teardown(close);
    const path = "/.well-known/oauth-protected-resource/mcp";
    const url = `http://127.0.0.1:${gateway.address.port}`;
    const forged = { "x-forwarded-proto": "https" };
    const byHttp1 = await (await fetch(`${url}${path}`, { headers: forged })).text();
    const session = connect(url);
    t.teardown(() => session.destroy());
    await once(session, "connect");
    const byHttp2 = await text(session.request({ ":path": path, ...forged }));
    for (const metadata of [byHttp1, byHttp2])
      t.equal(JSON.parse(metadata).resource, `${scheme}://127.0.0.1:${gateway.address.port}/mcp`);
  });
}
