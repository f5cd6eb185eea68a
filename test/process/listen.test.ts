/**
 * If an address cannot be listened on, the error names it once, with the reason and the setting.
 */
import t from "tap";
import { loadConfig } from "../../src/config/config.js";
import { listening } from "../../src/process/listen.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import { listenHttp2 } from "../http2/serve.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";

for (const [transport, serve] of [
  ["http2", serveHttp2],
  ["grpc-js", serveGrpc],
] as const) {
  t.test(`${transport}: a host that does not exist`, async (t) => {
    const config = loadConfig({ grpc: "portico.invalid:9999" }, {});
    const open = () => serve(dispatcherOf([]), { host: "portico.invalid", port: 9999 }, LIMITS);
    await t.rejects(listening("grpc", config, open), {
      message:
        /^cannot listen on portico\.invalid:9999: getaddrinfo \w+ portico\.invalid; name another address in PORTICO_GRPC \(/,
    });
  });

  t.test(`${transport}: a port that is in use`, async (t) => {
    const { address } = await listenHttp2(t, dispatcherOf([]));
    const config = loadConfig({ grpc: `127.0.0.1:${address.port}` }, {});
    await t.rejects(
      listening("grpc", config, () => serve(dispatcherOf([]), address, LIMITS)),
      {
        message: new RegExp(`^127\\.0\\.0\\.1:${address.port} is in use; name another address in PORTICO_GRPC`),
      },
    );
  });
}
