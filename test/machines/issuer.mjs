// An issuer of JWTs (OpenID Connect) on the loopback address of a machine. Arguments: its port, and
// the keys that it publishes as JSON.
import { createServer } from "node:http";

const [, , port, keys] = process.argv;
const url = `http://127.0.0.1:${port}`;
const endpoints = { authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` };
const metadata = JSON.stringify({ issuer: url, jwks_uri: `${url}/keys`, ...endpoints });

createServer((request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(request.url === "/keys" ? keys : metadata);
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
