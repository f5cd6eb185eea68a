// Generated code preserves an entry of a map, whatever its key.
import t from "tap";
import { Struct } from "../../src/gen/google/protobuf/struct.js";
import { QuotaFailure_Violation } from "../../src/gen/google/rpc/error_details.js";

const KEYS = ["__proto__", "constructor", "hasOwnProperty", "a"];

for (const key of KEYS) {
  t.test(`preserves an entry with the key ${key}`, async (t) => {
    const fields = JSON.parse(`{"before": 1, ${JSON.stringify(key)}: {"deep": [{${JSON.stringify(key)}: true}]}}`);
    const again = Struct.unwrap(Struct.decode(Struct.encode(Struct.wrap(fields)).finish()));
    t.equal(JSON.stringify(again), JSON.stringify(fields), "in a Struct");
    t.equal(Object.getPrototypeOf(again), Object.prototype, "it sets no prototype");
    const quotaDimensions = JSON.parse(`{${JSON.stringify(key)}: "x"}`);
    const violation = QuotaFailure_Violation.fromPartial({ quotaDimensions });
    const { quotaDimensions: read } = QuotaFailure_Violation.decode(QuotaFailure_Violation.encode(violation).finish());
    t.same(Object.entries(read), [[key, "x"]], "in a map of text");
  });
}
