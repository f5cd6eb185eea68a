import t from "tap";
import { isGlobalAddress } from "../../src/address/global-address.js";

const GLOBAL = [
  ...["1.1.1.1", "93.184.215.14", "172.32.0.1", "100.128.0.1", "192.0.3.1", "223.255.255.255"],
  ...["2606:4700::1111", "2a00:1450::1", "64:ff9b::1.1.1.1", "2002:101:101::1", "::ffff:1.1.1.1"],
];
const NOT_GLOBAL = [
  ...[
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
  ],
  ...["192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1"],
  ...["203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
  ...["::", "::1", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1", "2001::1", "2001:20::1", "3fff::1"],
  ...["100::1", "5f00::1", "2620:4f:8000::1", "64:ff9b:1::1", "fec0::1", "4000::1"],
  // An IPv4 address inside of another one.
  ...[
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
  ],
  ...["::127.0.0.1", "fe80::1%eth0", "localhost", "127.1", "0x7f000001", ""],
];

for (const [expected, addresses] of [
  [true, GLOBAL],
  [false, NOT_GLOBAL],
] as const) {
  t.test(expected ? "globally reachable addresses" : "other addresses", async (t) => {
    for (const address of addresses) t.equal(isGlobalAddress(address), expected, address);
  });
}
