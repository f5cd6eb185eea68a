// The client that the headers of trusted proxies name for a request. Entries that a client has
// forged do not count.
import t from "tap";
import { forwardedClient } from "../../gateway/http/forwarded.js";
import { TrustedProxies } from "../../src/address/client-address.js";

const PROXY = "10.0.0.1";
const proxies = TrustedProxies.parse("10.0.0.0/8, 2001:db8:ff::/48");
const CLIENT = "192.0.2.7";
const FORGED = "203.0.113.66";

/** Headers as lines, and the resulting address. */
const cases: [what: string, lines: readonly string[], address: string][] = [
  ["no header", [], PROXY],
  ["one proxy", ["X-Forwarded-For: 192.0.2.7"], CLIENT],
  ["the header in any case", ["x-fORWARDED-fOR: 192.0.2.7"], CLIENT],
  ["two trusted proxies", ["X-Forwarded-For: 192.0.2.7, 10.0.0.2"], CLIENT],
  ["a forged entry before the client's", ["X-Forwarded-For: 203.0.113.66, 192.0.2.7"], CLIENT],
  ["a forged line before the proxy's", ["X-Forwarded-For: 203.0.113.66", "X-Forwarded-For: 192.0.2.7"], CLIENT],
  ["a forged address of a proxy", ["X-Forwarded-For: 203.0.113.66, 10.0.0.9, 192.0.2.7"], CLIENT],
  ["only trusted proxies", ["X-Forwarded-For: 10.0.0.3, 10.0.0.2"], "10.0.0.3"],
  ["empty entries", ["X-Forwarded-For: , 192.0.2.7 ,, "], CLIENT],
  ["an empty header", ["X-Forwarded-For: "], PROXY],
  ["an unreadable hop", ["X-Forwarded-For: 203.0.113.66, nonsense"], PROXY],
  ["an unreadable hop behind a trusted one", ["X-Forwarded-For: 203.0.113.66, nonsense, 10.0.0.2"], "10.0.0.2"],
  ["a name", ["X-Forwarded-For: client.example"], PROXY],
  ["half an address", ["X-Forwarded-For: 192.0.2"], PROXY],
  ["an octal address", ["X-Forwarded-For: 0300.0.2.7"], PROXY], // other programs read it as another address
  ["a port", ["X-Forwarded-For: 192.0.2.7:4711"], CLIENT],
  ["bare IPv6", ["X-Forwarded-For: 2001:db8::1"], "2001:db8::1"],
  ["IPv6 with a port", ["X-Forwarded-For: [2001:db8::1]:4711"], "2001:db8::1"],
  ["IPv6 in another form", ["X-Forwarded-For: 2001:0DB8:0:0::0001"], "2001:db8::1"],
  ["IPv4-mapped IPv6", ["X-Forwarded-For: ::ffff:192.0.2.7"], CLIENT],
  ["IPv4-mapped IPv6 in hexadecimal", ["X-Forwarded-For: ::ffff:c000:207"], CLIENT],
  ["IPv6 with a zone", ["X-Forwarded-For: fe80::1%eth0"], PROXY], // the zone is valid only on another computer
  ["a trusted proxy with IPv6", ["X-Forwarded-For: 192.0.2.7, 2001:db8:ff::2"], CLIENT],
  ["an opened quoted string", ['X-Forwarded-For: ", 192.0.2.7'], CLIENT],

  ["Forwarded", ["Forwarded: for=192.0.2.7"], CLIENT],
  ["parameters beside it", ["Forwarded: by=10.0.0.1;FOR=192.0.2.7;proto=https;host=x"], CLIENT],
  ["spaces and an empty parameter", ["Forwarded: proto=https ; for=192.0.2.7 ;"], CLIENT],
  ["a quoted port", ['Forwarded: for="192.0.2.7:4711"'], CLIENT],
  ["a quoted, obfuscated port", ['Forwarded: for="192.0.2.7:_port"'], CLIENT],
  ["quoted IPv6 with a port", ['Forwarded: for="[2001:db8::1]:4711"'], "2001:db8::1"],
  ["quoted IPv6", ['Forwarded: for="[2001:db8::1]"'], "2001:db8::1"],
  ["an escape in the quoted string", ['Forwarded: for="192.0.\\2.7"'], CLIENT],
  ["IPv6 without brackets", ['Forwarded: for="2001:db8::1"'], PROXY],
  ["IPv6 without quotation marks", ["Forwarded: for=[2001:db8::1]"], PROXY],
  ["IPv4 in brackets", ['Forwarded: for="[192.0.2.7]"'], PROXY],
  ["unknown", ["Forwarded: for=203.0.113.66, for=unknown"], PROXY],
  ["hidden", ["Forwarded: for=203.0.113.66, for=_hidden"], PROXY],
  ["hidden behind a trusted proxy", ['Forwarded: for=203.0.113.66, for=_SEVKISEK, for="10.0.0.2"'], "10.0.0.2"],
  ["a hop that names no client", ["Forwarded: for=203.0.113.66, proto=https"], PROXY],
  ["a hop that names two clients", ["Forwarded: for=203.0.113.66;for=192.0.2.7"], PROXY],
  ["a hop that is malformed behind its address", ["Forwarded: for=192.0.2.7;proto"], PROXY],
  ["a forged element", ["Forwarded: for=203.0.113.66, for=192.0.2.7"], CLIENT],
  ["a quoted string that the client opens", ['Forwarded: for="203.0.113.66, for=192.0.2.7'], CLIENT],
  ["a quoted string that the client opens with an escape", ['Forwarded: for="\\, for=192.0.2.7'], CLIENT],
  [
    "a quoted string that the client opens before a trusted hop",
    ['Forwarded: for=203.0.113.66;x=", for=10.0.0.2'],
    "10.0.0.2",
  ],
  ["a quoted string over two hops", ['Forwarded: for=203.0.113.66;x=", for="10.0.0.2"'], "10.0.0.2"],
  ["a comma in a quoted string of the proxy", ['Forwarded: for=192.0.2.7;host="a, for=203.0.113.66"'], CLIENT],
  [
    "a quotation mark in a quoted string of the proxy",
    ['Forwarded: for=192.0.2.7;host="a\\", for=203.0.113.66"'],
    CLIENT,
  ],
  [
    "a quotation mark after a comma in a quoted string of the proxy",
    ['Forwarded: for=192.0.2.7;host="a, for=203.0.113.66\\""'],
    CLIENT,
  ],

  ["both headers, of one client", ["Forwarded: for=192.0.2.7", "X-Forwarded-For: 192.0.2.7"], CLIENT],
  ["one client, by way of other hops", ["Forwarded: for=192.0.2.7", "X-Forwarded-For: 192.0.2.7, 10.0.0.2"], CLIENT],
  // The proxy has passed on one of the two as the client sent it, and the gateway cannot know
  // which.
  ["both headers, of two clients", ["Forwarded: for=203.0.113.66", "X-Forwarded-For: 192.0.2.7"], PROXY],
  ["an unreadable header beside a good one", ["Forwarded: for=unknown", "X-Forwarded-For: 192.0.2.7"], PROXY],
];

for (const [what, lines, address] of cases) {
  t.test(`${what}: ${lines.join(" | ")}`, async (t) => {
    const raw = lines.flatMap((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
    const found = forwardedClient(PROXY, raw, proxies);
    t.equal(found, address);
    t.not(found, FORGED);
  });
}

t.test("text to the left of the trusted proxy's entry never changes the address", async (t) => {
  const chunks = ['"', "\\", ",", ";", "for=", "203.0.113.66", "10.0.0.2", "unknown", "[::1]", " ", "="];
  for (const [header, entry] of [
    ["Forwarded", 'for="192.0.2.7:80"'],
    ["X-Forwarded-For", CLIENT],
  ] as const) {
    for (const first of chunks) {
      for (const second of chunks) {
        for (const third of chunks) {
          const value = `${first}${second}${third}, ${entry}`;
          const found = forwardedClient(PROXY, [header, value], proxies);
          if (found !== CLIENT) t.fail(`${header}: ${value} gives ${found}`);
        }
      }
    }
  }
  t.pass("for all texts of three parts");
});
