// h2spec, the conformance suite for HTTP/2 servers, against the HTTP port. It needs Go, once, to be installed.
import t from "tap";
import { goProgram, run } from "../../../outside/tools.js";
import { echo } from "../dial.js";
import { serve } from "./serve.js";

t.setTimeout(300_000);

const h2spec = goProgram("github.com/summerwind/h2spec/cmd/h2spec", "v2.2.1+incompatible");

if (h2spec === undefined) t.test("the suite from outside", { skip: "there is no Go here" }, async () => {});
else {
  const { address } = await serve(t, echo);
  const parameters = ["-h", address.host, "-p", `${address.port}`, "--path", "/p", "--strict", "-o", "2"];
  const { status, output } = await run(h2spec, parameters);
  t.equal(status, 0, output.match(/\d+ tests, .*/)?.[0] ?? "h2spec says nothing");
  if (status !== 0) t.comment(output.slice(output.indexOf("Failures:")));
}
