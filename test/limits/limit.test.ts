/** What an administrator may write as a limit, and what it means. */
import { inspect } from "node:util";
import t from "tap";
import { networkOf } from "../../src/address/client-address.js";
import { Limit, Per } from "../../src/gen/portico/auth/v1/limits.js";
import { checkLimit, defaultBurst, parseQuota, parseRate, rateInWords } from "../../src/limits/limit.js";

const limit = (fields: Partial<Limit>): Limit => Limit.fromPartial({ id: "ci", per: Per.ACCOUNT, ...fields });

t.test("a limit is completed with its defaults, and then stays as it is", async (t) => {
  const completed = { scope: "<public>", resource: "*:*:*", per: Per.ACCOUNT, shadow: false };
  const cases: [given: Partial<Limit>, completed: Partial<Limit>][] = [
    [{ rate: "100/s" }, { rate: "100/s", burst: 100n }],
    [{ rate: "90/m" }, { rate: "90/m", burst: 1n }],
    [{ rate: "5/m" }, { rate: "5/m", burst: 1n }],
    [{ rate: "7200/h" }, { rate: "7200/h", burst: 2n }],
    [{ rate: "1/d" }, { rate: "1/d", burst: 1n }],
    [
      { rate: "0100/s", burst: 7n },
      { rate: "100/s", burst: 7n },
    ],
    [{ rate: "2147483647/s" }, { burst: 2147483647n }],
    [{ quota: "9007199254740991/month" }, { quota: "9007199254740991/month", burst: 0n }],
    [{ quota: "007/day" }, { quota: "7/day" }],
    [{ concurrent: 1_000_000 }, { concurrent: 1_000_000 }],
    [
      { concurrent: 1, scope: "staff", resource: "service:*:A.B*", shadow: true },
      { scope: "staff", shadow: true },
    ],
    [
      { concurrent: 1, scope: "*", per: Per.EVERYONE },
      { scope: "*", per: Per.EVERYONE },
    ],
  ];
  for (const [given, expected] of cases) {
    const checked = checkLimit(limit(given));
    t.match(checked, { ...completed, ...given, ...expected }, inspect(given));
    t.same(checkLimit(checked), checked);
  }
  const unknown = { ...limit({ concurrent: 1 }), _unknownFields: { 99: [] } };
  t.notOk("_unknownFields" in checkLimit(unknown));
});

t.test("a limit that cannot be kept is refused, and the message says what is allowed", async (t) => {
  const cases: [wrong: Partial<Limit>, message: RegExp][] = [
    [{ id: "" }, /^id "" must be 1 to 64 letters/],
    [{ id: "-ci" }, /^id "-ci" must be/],
    [{ scope: "<Public>" }, /^scope "<Public>" must be <public>, \* or a name/],
    [{ scope: "team-*" }, /^scope "team-\*" must be/],
    [{ resource: "service:x" }, /^resource "service:x" must have three segments/],
    [{ per: Per.PER_UNSPECIFIED }, /^per must be account, key, address, namespace or everyone/],
    [{ per: 9 as Per }, /^per must be/],
    [{ rate: "" }, /^rate is missing: a limit needs a rate such as 100\/s, a quota or concurrent$/],
    [{ burst: -1n }, /^burst must be a whole number from 1 to 2147483647/],
    [{ burst: 2n ** 31n }, /^burst must be a whole number from 1 to 2147483647/],
    [{ rate: "", quota: "1/day", burst: 5n }, /^burst needs a rate/],
    [{ concurrent: -1 }, /^concurrent must be a whole number from 1 to 1000000, or 0/],
    [{ concurrent: 1_000_001 }, /^concurrent must be/],
    [{ concurrent: 1.5 }, /^concurrent must be/],
    ...["0/s", "1/fortnight", "1/S", "1.5/s", "-1/s", "+1/s", "1e3/s", " 1/s", "1/s ", "1", "/s", "1/day"].map(
      (rate): [Partial<Limit>, RegExp] => [{ rate }, /^rate ".*" must be a whole number from 1 to 2147483647 and \/s/],
    ),
    [{ rate: "2147483648/s" }, /^rate "2147483648\/s" must be/],
    [{ rate: `${"9".repeat(400)}/s` }, /^rate "9{64}" must be/],
    [{ rate: "1/\u001b[31m" }, /^rate "1\/\?\[31m" must be/],
    ...["0/day", "1/week", "1/d", "1.5/month", "9007199254740992/month", "99999999999999999/day"].map(
      (quota): [Partial<Limit>, RegExp] => [{ quota }, /^quota ".*" must be a whole number from 1 to 9007199254740991/],
    ),
  ];
  for (const [wrong, message] of cases) {
    t.throws(() => checkLimit(limit({ rate: "1/s", ...wrong })), { name: "SyntaxError", message });
  }
});

t.test("rates and quotas are read, and rates are said in words", async (t) => {
  t.same(["100/s", "5/m", "1/h", "10/d"].map(parseRate), [
    { calls: 100, seconds: 1 },
    { calls: 5, seconds: 60 },
    { calls: 1, seconds: 3_600 },
    { calls: 10, seconds: 86_400 },
  ]);
  t.same(["3/day", "1000000/month"].map(parseQuota), [
    { calls: 3, period: "day" },
    { calls: 1_000_000, period: "month" },
  ]);
  t.equal(defaultBurst(parseRate("59/m")), 1);
  t.equal(defaultBurst(parseRate("120/m")), 2);
  t.same(["100/s", "1/m", "5/h", "2/d"].map(rateInWords), [
    "100 calls a second",
    "1 call a minute",
    "5 calls an hour",
    "2 calls a day",
  ]);
});

t.test("an IPv6 address counts by its /64, in one form", async (t) => {
  for (const [address, network] of [
    ["192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::1", "2001:db8:1:2"],
    ["2001:db8:0:2::", "2001:db8:0:2"],
    ["2001:DB8:01:2::1", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["::ffff:192.0.2.1", "::ffff:192.0.2.1"],
  ] as const) {
    t.equal(networkOf(address), network, address);
  }
});
