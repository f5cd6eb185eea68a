/** HMAC-SHA256, compared with the one of node:crypto. */
import { createHmac, randomBytes } from "node:crypto";
import t from "tap";
import { hmacSha256 } from "../../src/access/assertions/hmac.js";
import { fc } from "../support/properties.js";

const expected = (text: string, key: Uint8Array) => createHmac("sha256", key).update(text).digest("base64url");

t.test("hmacSha256 computes test case 2 of RFC 4231", async (t) => {
  const mac = hmacSha256("what do ya want for nothing?", Buffer.from("Jefe"));
  t.equal(
    Buffer.from(mac, "base64url").toString("hex"),
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
});

t.test("hmacSha256 computes the same as node:crypto for any text and key", async (t) => {
  const key = fc.uint8Array({ maxLength: 64 });
  const text = fc.string({ unit: "binary", maxLength: 200 });
  fc.assert(fc.property(text, key, (text, key) => hmacSha256(text, key) === expected(text, key)));
  const one = randomBytes(32);
  for (const length of [0, 1, 4_031, 4_032, 4_033, 64 * 1024]) {
    for (const unit of ["x", "\u0141", "\u{1f600}"]) {
      const text = unit.repeat(length);
      t.ok(hmacSha256(text, one) === expected(text, one), `${length} of ${unit}`);
    }
  }
});

t.test("texts that differ in one character have different MACs", async (t) => {
  const key = randomBytes(32);
  t.not(hmacSha256("\u0141", key), hmacSha256("A", key), "U+0141 is no U+0041, although its lower byte is");
});

t.test("a key that is too long is refused", async (t) => {
  t.throws(() => hmacSha256("x", Buffer.alloc(65)), { name: "RangeError", message: /at most 64 bytes/ });
});
