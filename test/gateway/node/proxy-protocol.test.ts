// PROXY headers as bytes: valid and malformed ones.
import t from "tap";
import { beginsProxyHeader, readBeginning } from "../../../gateway/node/proxy-protocol.js";
import { binary, Command, Family, ipv4, ipv6 } from "./proxy-headers.js";

const REST = "GET / HTTP/1.1\r\n";

const good: [what: string, header: Buffer | string, source: string | undefined][] = [
  ["TCP4", "PROXY TCP4 192.0.2.7 10.0.0.1 4711 8080\r\n", "192.0.2.7"],
  ["TCP6", "PROXY TCP6 2001:DB8::1 ::1 4711 8080\r\n", "2001:db8::1"],
  [
    "the longest TCP6",
    "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
  ],
  ["UNKNOWN", "PROXY UNKNOWN\r\n", undefined],
  ["UNKNOWN of 107 bytes", `PROXY UNKNOWN ${"f".repeat(91)}\r\n`, undefined],
  ["v2 TCP over IPv4", binary({ body: ipv4("192.0.2.7") }), "192.0.2.7"],
  ["v2 UDP over IPv4", binary({ transport: 2, body: ipv4("192.0.2.7") }), "192.0.2.7"],
  ["v2 IPv6", binary({ family: Family.IPV6, body: ipv6("20010db8000000000000000000000001") }), "2001:db8::1"],
  ["v2 IPv4-mapped IPv6", binary({ family: Family.IPV6, body: ipv6("00000000000000000000ffffc0000207") }), "192.0.2.7"],
  ["v2 with vectors", binary({ body: [...ipv4("192.0.2.7"), 0x01, 0, 2, 104, 50, 0x04, 0, 0] }), "192.0.2.7"],
  ["v2 of 4096 bytes", binary({ body: [...ipv4("192.0.2.7"), 4, 15, 225, ...Buffer.alloc(4065)] }), "192.0.2.7"],
  ["v2 LOCAL", binary({ command: Command.LOCAL, family: 0, transport: 0, body: [] }), undefined],
  ["v2 LOCAL with addresses", binary({ command: Command.LOCAL, body: ipv4("192.0.2.7") }), undefined],
  ["v2 AF_UNSPEC", binary({ family: 0, transport: 0, body: [] }), undefined],
  ["v2 AF_UNSPEC with anything", binary({ family: 0, transport: 0, body: [1, 2, 3] }), undefined],
  ["v2 AF_UNIX", binary({ family: Family.UNIX, body: Buffer.alloc(216) }), undefined],
];

for (const [what, header, source] of good) {
  t.test(`${what} is read, however it is split`, async (t) => {
    const bytes = Buffer.from(header as string);
    const all = Buffer.concat([bytes, Buffer.from(REST)]);
    t.same(readBeginning(all), { length: bytes.length, source });
    for (let length = 0; length < bytes.length; length++) {
      if (readBeginning(all.subarray(0, length)) !== undefined) t.fail(`${length} bytes were taken for all`);
    }
  });
}

const bad: [what: string, header: Buffer | string, message: RegExp][] = [
  ["no addresses", "PROXY TCP4\r\n", /malformed/],
  ["an address of another family", "PROXY TCP4 ::1 10.0.0.1 1 2\r\n", /malformed/],
  ["IPv6 that is IPv4", "PROXY TCP6 192.0.2.7 10.0.0.1 1 2\r\n", /malformed/],
  ["a zone", "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n", /malformed/],
  ["a name", "PROXY TCP4 localhost 10.0.0.1 1 2\r\n", /malformed/],
  ["a port that is too large", "PROXY TCP4 192.0.2.7 10.0.0.1 1 65536\r\n", /malformed/],
  ["a port with a zero before it", "PROXY TCP4 192.0.2.7 10.0.0.1 01 2\r\n", /malformed/],
  ["two spaces", "PROXY TCP4  192.0.2.7 10.0.0.1 1 2\r\n", /malformed/],
  ["text after the ports", "PROXY TCP4 192.0.2.7 10.0.0.1 1 2 3\r\n", /malformed/],
  ["another protocol", "PROXY UDP4 192.0.2.7 10.0.0.1 1 2\r\n", /malformed/],
  ["an unknown that is not UNKNOWN", "PROXY UNKNOWNS\r\n", /malformed/],
  ["LF alone, and then nothing", `PROXY TCP4 192.0.2.7 10.0.0.1 1 2\n${"x".repeat(80)}`, /longer than 107/],
  ["a line of 108 bytes", `PROXY UNKNOWN ${"f".repeat(92)}\r\n`, /longer than 107/],
  ["v2 of version 1", binary({ version: 1, body: ipv4("192.0.2.7") }), /version is not 2/],
  ["v2 with another command", binary({ command: 2, body: ipv4("192.0.2.7") }), /unknown command 2/],
  ["v2 with another family", binary({ family: 4, body: ipv4("192.0.2.7") }), /unknown address family/],
  ["v2 with another transport", binary({ transport: 3, body: ipv4("192.0.2.7") }), /unknown address family/],
  ["v2 too short for IPv4", binary({ body: ipv4("192.0.2.7").slice(1) }), /too short/],
  ["v2 too short for IPv6", binary({ family: Family.IPV6, body: ipv4("192.0.2.7") }), /too short/],
  ["v2 with half a vector", binary({ body: [...ipv4("192.0.2.7"), 1, 0] }), /wrong length/],
  ["v2 with a vector that is too long", binary({ body: [...ipv4("192.0.2.7"), 1, 0, 9, 1] }), /wrong length/],
  ["v2 of 4097 bytes", binary({ body: Buffer.alloc(4081) }).subarray(0, 16), /has 4097 bytes/],
];

for (const [what, header, message] of bad) {
  t.test(`${what} is rejected`, async (t) => {
    t.throws(() => readBeginning(Buffer.from(header as string)), { name: "SyntaxError", message });
  });
}

const none: [what: string, bytes: string][] = [
  ["a request", "POST / HTTP/1.1\r\n"],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\n"],
  ["TLS", "\x16\x03\x01"],
  ["empty lines before a request", "\r\n\r\nGET"],
  ["the word in small letters", "proxy TCP4 "],
];

for (const [what, text] of none) {
  t.test(`${what} is not a PROXY header`, async (t) => {
    const bytes = Buffer.from(text, "latin1");
    t.same(readBeginning(bytes), { length: 0, source: undefined });
    t.equal(beginsProxyHeader(bytes), false);
  });
}
