// A setting names the origins whose pages may call. No origin may send credentials.
import t from "tap";
import { readHeaders } from "../../../gateway/http/headers.js";
import { Cors } from "../../../gateway/stages/cors.js";

const GOOD = "https://good.example";
const cases: [
  title: string,
  origins: readonly string[] | "*",
  origin: string | undefined,
  headers: string[],
  preflight: boolean,
][] = [
  [
    "any origin",
    "*",
    GOOD,
    [
      "Access-Control-Allow-Origin",
      "*",
      "Access-Control-Expose-Headers",
      "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, *",
    ],
    true,
  ],
  ["any origin, but no page calls", "*", undefined, [], true],
  [
    "a listed origin",
    [GOOD],
    GOOD,
    [
      "Vary",
      "Origin",
      "Access-Control-Allow-Origin",
      GOOD,
      "Access-Control-Expose-Headers",
      "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, *",
    ],
    true,
  ],
  ["another origin", [GOOD], "https://bad.example", ["Vary", "Origin"], false],
  ["an origin that starts like a listed one", [GOOD], `${GOOD}.evil.example`, ["Vary", "Origin"], false],
  ["the origin null", [GOOD], "null", ["Vary", "Origin"], false],
  ["no page calls", [GOOD], undefined, ["Vary", "Origin"], false],
  ["turned off", [], GOOD, [], false],
];

for (const [title, origins, origin, headers, allowed] of cases) {
  t.test(title, async (t) => {
    const cors = new Cors(origins);
    const asked = readHeaders(origin === undefined ? [] : ["Origin", origin]);
    t.same(cors.headers(asked), headers);
    t.equal(cors.preflight(asked).includes("Access-Control-Allow-Methods"), allowed, "preflight");
    t.notMatch([...cors.headers(asked), ...cors.preflight(asked)].join(), /credentials/i);
  });
}
