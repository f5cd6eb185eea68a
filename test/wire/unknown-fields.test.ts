// Fields that the contract does not have are preserved with their message. Only a message that has
// such fields uses memory for them.
import t from "tap";
import { Access, Rule } from "../../src/gen/portico/auth/v1/rules.js";
import { BinaryWriter } from "../../src/wire/writer.js";

const rule = { id: "r", scope: "staff", access: Access.GRANTED, resource: "*:*:*", priority: 7, disabled: false };
const STRING = 2;

t.test("unknown fields are written back unchanged", async (t) => {
  const writer = Rule.encode(rule, new BinaryWriter());
  for (const text of ["first", "second"]) writer.uint32((99 << 3) | STRING).string(text);
  const bytes = writer.finish();
  const read = Rule.decode(bytes);
  t.equal(Object.values(read._unknownFields ?? {}).flat().length, 2);
  t.same(Rule.encode(read).finish(), bytes);
});

t.test("a message without unknown fields has no object for such fields", async (t) => {
  t.equal(Rule.decode(Rule.encode(rule).finish())._unknownFields, undefined);
});
