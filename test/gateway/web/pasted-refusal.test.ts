// What may be pasted to learn why a call was refused.
import t from "tap";
import { readPasted, withoutWholeTokens } from "../../../gateway/web/console/pasted-refusal.js";
import { createToken } from "../../../src/call/token.js";

const KEY = createToken("key");
const PREFIX = KEY.slice(0, 10);
const RESPONSE = {
  Id: "orders",
  Code: 403,
  Detail: "Forbidden call made to orders:Orders.List by bob",
  Status: "Forbidden",
};

t.test("a whole token is cut to its prefix, wherever it is", async (t) => {
  t.equal(withoutWholeTokens(KEY), PREFIX);
  t.equal(withoutWholeTokens(`curl -H 'Authorization: Bearer ${KEY}'`), `curl -H 'Authorization: Bearer ${PREFIX}'`);
  t.notMatch(withoutWholeTokens(`${createToken("access")} ${createToken("refresh")}`), /\w{20}/);
});

t.test("a request ID, a key, and a response are told apart", async (t) => {
  t.same(readPasted(" Zk3_b-1a.9 \n"), { requestId: "Zk3_b-1a.9" });
  t.same(readPasted(PREFIX), { key: PREFIX });
  t.same(readPasted("HTTP/1.1 403 Forbidden\r\nX-Request-Id: abc-1\r\n\r\n{}"), { requestId: "abc-1" });
  t.same(readPasted("Forbidden call made to a:B.C by bob\nHTTP 403, request abc-1"), { requestId: "abc-1" });
  t.same(readPasted(JSON.stringify(RESPONSE)), { service: "orders", endpoint: "Orders.List" });
  t.same(readPasted(JSON.stringify({ ...RESPONSE, Detail: "Unauthorized call made to a:B.C" }, null, 2)), {
    service: "a",
    endpoint: "B.C",
  });
});

t.test("anything else gets a sentence", async (t) => {
  t.match(readPasted("why does it not work?"), { problem: /no request ID, no API key and no answer/ });
  t.match(readPasted(JSON.stringify({ Code: 404, Detail: "No endpoint" })), { problem: /X-Request-Id/ });
  t.match(readPasted(withoutWholeTokens(createToken("access"))), { problem: /not an API key/ });
  t.match(readPasted("x-request-id: ".repeat(1024 * 1024)), { problem: /too long for an answer/ });
});
