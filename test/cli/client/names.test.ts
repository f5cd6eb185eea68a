// Names in generated code. They shadow nothing that the runtimes declare.
import { readFileSync } from "node:fs";
import t from "tap";
import * as go from "../../../cli/client/go.js";
import { camel, pascal, Scope, snake } from "../../../cli/client/names.js";
import * as python from "../../../cli/client/python.js";
import * as typescript from "../../../cli/client/typescript.js";

const CASES = [
  // given, pascal, camel, snake
  ["Call", "Call", "call", "call"],
  ["WhoAmI", "WhoAmI", "whoAmI", "who_am_i"],
  ["URLOf", "URLOf", "urlOf", "url_of"],
  ["ID", "ID", "id", "id"],
  ["p95Ms", "P95Ms", "p95Ms", "p95_ms"],
  ["my-shop", "MyShop", "myShop", "my_shop"],
  ["call_request", "CallRequest", "callRequest", "call_request"],
  ["5th", "_5th", "_5th", "_5th"],
  ['naïve "x"', "NaVeX", "naVeX", "na_ve_x"],
  ["名", "_", "_", "_"],
] as const;

for (const [given, ...expected] of CASES) {
  t.test(JSON.stringify(given), async (t) => t.same([pascal(given), camel(given), snake(given)], expected));
}

t.test("a name that is in use gets an underscore", async (t) => {
  const scope = new Scope(["from"]);
  t.same(
    ["from", "from", "to"].map((name) => scope.add(name)),
    ["from_", "from__", "to"],
  );
});

const RUNTIMES = [
  ["TypeScript", ["runtime.ts"], /^(?:export )?(?:class|interface|type) (\w+)/gm, typescript.RESERVED_TYPES],
  ["Python", ["portico_client.py", "portico_websocket.py"], /^class ([A-Z]\w+)/gm, python.RESERVED_TYPES],
  ["Go", ["portico.go", "portico_websocket.go"], /^(?:type|func) ([A-Z]\w+)/gm, go.RESERVED_TYPES],
] as const;

for (const [language, files, declaration, reserved] of RUNTIMES) {
  t.test(`a message has no name that the runtime in ${language} declares`, async (t) => {
    const text = files.map((file) => readFileSync(`dist/client/${file}`, "utf8")).join("\n");
    const declared = [...text.matchAll(declaration)].map(([, name = ""]) => name);
    t.ok(declared.length > 3);
    t.same(
      declared.filter((name) => !reserved.includes(name)),
      [],
    );
  });
}
