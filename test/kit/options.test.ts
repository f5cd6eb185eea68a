// `serve` refuses wrong options at once, with an error for the developer.
import t from "tap";
import { HelloworldService } from "../../src/gen/helloworld/helloworld.js";
import { type ServeOptions, serve } from "../../src/kit/index.js";

const cases: readonly (readonly [options: ServeOptions, message: RegExp])[] = [
  [{ name: "Greeter" }, /^name "Greeter": must be lower-case letters, digits and -$/],
  [{ name: "greeter", settings: { gprc: "" } }, /^settings: there is no setting gprc$/],
  [{ name: "greeter", bindings: { prefix: "api" } }, /^bindings\.prefix "api": must be a path such as \/api$/],
  [{ name: "greeter", metadata: ["X-Tenant"] }, /^metadata must be a list of at most 64 names in lower case, such as/],
  [{ name: "greeter", metadata: ["set-cookie"] }, /^metadata must be a list .* none of which belongs to Portico/],
];

for (const [options, message] of cases) {
  t.test(JSON.stringify(options), async (t) => {
    const implementation = { call: () => ({ message: "", msg: "" }), async *stream() {} };
    await t.rejects(serve(HelloworldService, implementation, options), { name: "TypeError", message });
  });
}
