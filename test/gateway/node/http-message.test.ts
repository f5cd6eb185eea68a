// Node makes an object of a request's headers for whoever asks for it; the gateway reads them as they came instead.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { HttpMessage } from "../../../gateway/node/http-message.js";

t.test("of all headers only what Node itself looks for is in the object", async (t) => {
  const server = createServer({ IncomingMessage: HttpMessage, requireHostHeader: false }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  const seen = new Promise<{ headers: IncomingHttpHeaders; raw: string[] }>((resolve) => {
    server.on("request", (req: IncomingMessage, res) => {
      resolve({ headers: req.headers, raw: req.rawHeaders });
      res.end();
    });
  });
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  request({ port, host: "127.0.0.1", agent: false, headers: { accept: "*/*" } }, (response) => response.resume()).end();
  const { headers, raw } = await seen;
  t.same(headers, { expect: undefined });
  t.match(raw, ["accept", "*/*"]);
});
