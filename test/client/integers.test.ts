// src/client/values.ts: 64-bit integers become bigint where the table of a service says so.
import t from "tap";
import { type Int64Table, withBigints } from "../../src/client/values.js";

const table: Int64Table = {
  Tree: [
    ["size", "Int64"],
    ["sizes", "{Int64}"],
    ["children", "Tree"],
    ["byName", "{Tree}"],
    ["__proto__", "Int64"],
    ["constructor", "Int64"],
  ],
};
const read = (json: string, type = "Tree") => withBigints(JSON.parse(json), [type, table]);

t.test("single values, lists, maps and messages in each other", async (t) => {
  t.strictSame(
    read('{"size":"18446744073709551615","sizes":{"-1":"-9223372036854775808"},"children":[{"size":"0"},{}]}'),
    { size: 2n ** 64n - 1n, sizes: { "-1": -(2n ** 63n) }, children: [{ size: 0n }, {}] },
  );
  t.strictSame(read('{"byName":{"size":{"size":"1","name":"2"}},"name":"3"}'), {
    byName: { size: { size: 1n, name: "2" } },
    name: "3",
  });
  t.strictSame(read('["1","2"]', "Int64"), [1n, 2n]);
});

t.test("absent values and null stay", async (t) => {
  t.strictSame(read("{}"), {});
  t.strictSame(read('{"size":null,"children":[null],"sizes":null}'), { size: null, children: [null], sizes: null });
  t.equal(read("null", "Int64"), null);
});

t.test("names that every object has are names of fields and keys too", async (t) => {
  const message = read('{"__proto__":"1","constructor":"2","sizes":{"__proto__":"3"}}') as Record<string, object>;
  t.strictSame(Object.entries(message).slice(0, 2), [
    ["__proto__", 1n],
    ["constructor", 2n],
  ]);
  t.strictSame(Object.entries(message.sizes ?? {}), [["__proto__", 3n]]);
  t.equal(Object.getPrototypeOf(message), Object.prototype);
});

t.test("a number is converted if no digit of it can be lost, and refused otherwise", async (t) => {
  t.strictSame(read('{"size":9007199254740991}'), { size: 2n ** 53n - 1n });
  for (const value of ["9007199254740993", "1.5", "true", "{}"]) {
    t.throws(() => read(`{"size":${value}}`), { name: "RangeError", message: /is not a 64-bit integer in quotes/ });
  }
  t.throws(() => read('{"size":"many"}'), SyntaxError);
});
