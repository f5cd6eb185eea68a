// h2spec, the conformance suite for HTTP/2 servers, with Portico's server. Its installation needs
// Go.
import t from "tap";
import { goProgram, run } from "../outside/tools.js";
import { testService } from "../rpc/http2/interop/service.js";
import { dispatcherOf } from "../rpc/serve.js";
import { listenHttp2 } from "./serve.js";

t.setTimeout(300_000);

const h2spec = goProgram("github.com/summerwind/h2spec/cmd/h2spec", "v2.2.1+incompatible");

if (h2spec === undefined) t.test("the suite from outside", { skip: "there is no Go here" }, async () => {});
else {
  const { address } = await listenHttp2(t, dispatcherOf([testService]));
  const { status, output } = await run(h2spec, ["-h", address.host, "-p", `${address.port}`, "--strict", "-o", "2"]);
  t.equal(status, 0, output.match(/\d+ tests, .*/)?.[0] ?? "h2spec says nothing");
  if (status !== 0) t.comment(output.slice(output.indexOf("Failures:")));
}
