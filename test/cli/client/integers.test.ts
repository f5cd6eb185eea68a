// cli/client/typescript.ts: a client has a table of the 64-bit integers in responses.
import { readFileSync } from "node:fs";
import t from "tap";
import { readContract } from "../../../cli/client/contract.js";
import { writeTypescript } from "../../../cli/client/typescript.js";

const clientOf = (name: string) => writeTypescript(readContract(name, readFileSync(`spec/${name}.json`, "utf8")));

t.test("a client without such integers has no table", async (t) => {
  for (const name of ["id", "helloworld", "lists"]) t.notMatch(clientOf(name), /int64:|Int64Table/, name);
});

t.test("only endpoints and messages with such integers are in it", async (t) => {
  const text = clientOf("cache");
  const rows = '  DecrementResponse: [["value", "Int64"]],\n  IncrementResponse: [["value", "Int64"]],\n';
  t.ok(text.includes(`const cacheInt64: Int64Table = {\n${rows}};\n`), text);
  t.ok(text.includes('{ path: "/cache/Increment", shape: "unary", int64: ["IncrementResponse", cacheInt64] }'));
  t.ok(text.includes('{ path: "/cache/Set", shape: "unary" }'));
});

t.test("messages that contain each other", async (t) => {
  const to = (name: string) => ({ $ref: `#/components/schemas/x.${name}-output` });
  const message = (properties: object) => ({ type: "object", properties });
  const int64 = { type: "string", format: "int64" };
  const content = { "application/json": { schema: to("Even") } };
  const document = {
    info: {},
    paths: { "/x/Read": { post: { responses: { 200: { content } } } } },
    components: {
      schemas: {
        "x.Even-output": message({ odd: to("Odd"), own: to("Own"), name: { type: "string" } }),
        "x.Odd-output": message({
          evens: { type: "array", items: to("Even") },
          counts: { type: "object", additionalProperties: int64 },
          byName: { type: "object", additionalProperties: to("Odd") },
        }),
        "x.Own-output": message({ own: to("Own"), number: { type: "integer", format: "int32" } }),
      },
    },
  };
  const text = writeTypescript(readContract("x", JSON.stringify(document)));
  const rows = '  Even: [["odd", "Odd"]],\n  Odd: [["evens", "Even"], ["counts", "{Int64}"], ["byName", "{Odd}"]],\n';
  t.ok(text.includes(`const xInt64: Int64Table = {\n${rows}};\n`), text);
  t.ok(text.includes('int64: ["Even", xInt64]'), text);
});
