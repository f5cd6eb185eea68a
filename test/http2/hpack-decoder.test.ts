import t from "tap";
import { HpackDecoder } from "../../src/http2/hpack-decoder.js";
import { HEADER_NAMES } from "../../src/rpc/http2/headers.js";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

const decode = (decoder: HpackDecoder, bytes: Buffer): string[] =>
  decoder.decode(bytes, 0, bytes.length).fields.map(({ name, value }) => `${name}: ${value}`);

/**
 * A change of the table's size to 256 bytes. Sections C.5 and C.6 set this size by a setting
 * instead.
 */
const TABLE_256 = "3fe101";

const DATES = ["date: Mon, 21 Oct 2013 20:13:21 GMT", "date: Mon, 21 Oct 2013 20:13:22 GMT"] as const;
const LOCATION = "location: https://www.example.com";
const COOKIE = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";

const REQUESTS = [
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
  [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"],
  [":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"],
];

const RESPONSES = [
  [":status: 302", "cache-control: private", DATES[0], LOCATION],
  [":status: 307", "cache-control: private", DATES[0], LOCATION],
  [":status: 200", "cache-control: private", DATES[1], LOCATION, "content-encoding: gzip", COOKIE],
];

/** RFC 7541, Appendix C: each example has the blocks of one connection, and their header lists. */
const EXAMPLES: [section: string, blocks: string[], lists: readonly (readonly string[])[]][] = [
  ["C.2.1", ["400a637573746f6d2d6b65790d637573746f6d2d686561646572"], [["custom-key: custom-header"]]],
  ["C.2.2", ["040c2f73616d706c652f70617468"], [[":path: /sample/path"]]],
  ["C.2.3", ["100870617373776f726406736563726574"], [["password: secret"]]],
  ["C.2.4", ["82"], [[":method: GET"]]],
  [
    "C.3",
    [
      "828684410f7777772e6578616d706c652e636f6d",
      "828684be58086e6f2d6361636865",
      "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
    ],
    REQUESTS,
  ],
  [
    "C.4",
    [
      "828684418cf1e3c2e5f23a6ba0ab90f4ff",
      "828684be5886a8eb10649cbf",
      "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
    ],
    REQUESTS,
  ],
  [
    "C.5",
    [
      `${TABLE_256}4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54
       6e1768747470733a2f2f7777772e6578616d706c652e636f6d`,
      "4803333037c1c0bf",
      `88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b
       425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31`,
    ],
    RESPONSES,
  ],
  [
    "C.6",
    [
      `${TABLE_256}488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8
       e9ae82ae43d3`,
      "4883640effc1c0bf",
      `88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af2708
       7f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007`,
    ],
    RESPONSES,
  ],
];

for (const [section, blocks, lists] of EXAMPLES) {
  t.test(`RFC 7541, section ${section}`, async (t) => {
    const decoder = new HpackDecoder(16_384, HEADER_NAMES);
    t.same(
      blocks.map((bytes) => decode(decoder, hex(bytes.replace(/\s/g, "")))),
      lists,
    );
  });
}

const MALFORMED: [what: string, bytes: string][] = [
  ["index 0", "80"],
  ["an index beyond both tables", "be"],
  ["a field that ends within its name", "400a6375"],
  ["a field without a value", "400161"],
  ["an incomplete integer", "ff"],
  ["an integer that is too large", "ffffffffffffff0f"],
  ["a string of many gigabytes", "007fffffffff07"],
  ["a table that is larger than allowed", "3fe21f"],
  ["a table size update after a field", "8220"],
  ["Huffman padding of eight bits", "000161821fff"],
  ["Huffman padding of zeros", "0001618118"],
  ["the end-of-string symbol", "00016184ffffffff"],
];

for (const [what, bytes] of MALFORMED) {
  t.test(`refuses ${what}`, async (t) => {
    t.throws(() => decode(new HpackDecoder(16_384, HEADER_NAMES), hex(bytes)), { name: "ConnectionError", code: 0x9 });
  });
}

t.test("accepts the default table size from the first block on", async (t) => {
  const decoder = new HpackDecoder(1_000_000, HEADER_NAMES);
  // Each of the 70 fields has 3 + 24 + 32 bytes: the 69 newest fit into 4096 bytes.
  const field = (index: number) => `k${String(index).padStart(2, "0")}: ${"v".repeat(24)}`;
  for (let index = 0; index < 70; index++) {
    const name = Buffer.from(`k${String(index).padStart(2, "0")}`).toString("hex");
    t.same(decode(decoder, hex(`4003${name}18${"76".repeat(24)}`)), [field(index)]);
  }
  t.same(decode(decoder, hex("be")), [field(69)], "the newest");
  t.same(decode(decoder, hex("ff03")), [field(1)], "the oldest that fits: index 130");
  t.throws(() => decode(decoder, hex("ff04")), "the one before was evicted");
});

t.test("a field that is larger than the table empties it", async (t) => {
  const decoder = new HpackDecoder(16_384, HEADER_NAMES);
  decode(decoder, hex("400161016240016301 64".replace(" ", "")));
  t.same(decode(decoder, hex("be")), ["c: d"]);
  decode(decoder, hex(`4001617f811f${"76".repeat(4096)}`));
  t.throws(() => decode(decoder, hex("be")));
});

t.test("a list that is too large is still added to the table", async (t) => {
  const decoder = new HpackDecoder(100, HEADER_NAMES);
  const large = hex(`4001617f21${"76".repeat(160)}40016201 63`.replace(" ", ""));
  const { fields, tooLarge } = decoder.decode(large, 0, large.length);
  t.equal(tooLarge, true);
  t.same(fields, []);
  t.same(decode(decoder, hex("be")), ["b: c"]);
  // A block of 32 bytes that expands to 32 fields: the size of the list counts.
  const bomb = hex("be".repeat(32));
  t.equal(decoder.decode(bomb, 0, bomb.length).tooLarge, true);
});
