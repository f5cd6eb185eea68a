// At which address the gateway says that it is: the one that is set, else the one that the client used.
import t from "tap";
import { ProtectedResource } from "../../../../gateway/dialects/mcp/protected-resource.js";
import { type GatewayRequest, readHeaders } from "../../../../gateway/http.js";

const SET = "https://api.example.com";
const cases: [
  what: string,
  options: ConstructorParameters<typeof ProtectedResource>[0],
  headers: string[],
  origin: string,
][] = [
  ["the host of the request", {}, ["Host", "door.test:8080"], "http://door.test:8080"],
  ["no host", {}, [], "http://localhost"],
  ["a proxy that speaks TLS", {}, ["Host", "door.test", "X-Forwarded-Proto", "https"], "https://door.test"],
  ["a port that speaks TLS", { httpTlsCert: "/cert.pem" }, ["Host", "door.test"], "https://door.test"],
  ["the address that is set", { publicUrl: SET }, ["Host", "door.test"], SET],
  ["a host that is forged", { publicUrl: SET }, ["Host", "evil.test", "X-Forwarded-Proto", "http"], SET],
];

for (const [what, options, headers, origin] of cases) {
  t.test(what, async (t) => {
    const resource = new ProtectedResource(options);
    const request = { headers: readHeaders(headers), rawHeaders: headers } as unknown as GatewayRequest;
    t.match(JSON.parse(String(resource.metadata(request).body)), { resource: `${origin}/mcp` });
    const [, challenge] = resource.challenge(request, undefined);
    t.equal(challenge, `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`);
  });
}
