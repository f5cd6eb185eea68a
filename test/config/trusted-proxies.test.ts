// Which client addresses are trusted proxies according to PORTICO_TRUSTED_PROXIES.
import t from "tap";
import { loadConfig } from "../../src/config/config.js";

const proxies = (value?: string) => {
  const env = { PORTICO_DATA: t.testdir(), ...(value === undefined ? {} : { PORTICO_TRUSTED_PROXIES: value }) };
  return loadConfig({}, env).trustedProxies;
};

const cases: [setting: string | undefined, address: string, trusted: boolean][] = [
  [undefined, "127.0.0.1", false], // by default no address is trusted, not even loopback
  ["none", "127.0.0.1", false],
  ["192.0.2.7", "192.0.2.7", true],
  ["192.0.2.7", "192.0.2.8", false],
  ["192.0.2.7", "::ffff:192.0.2.7", true], // a dual-stack socket has IPv4-mapped addresses
  ["10.0.0.0/8", "10.255.255.255", true],
  ["10.0.0.0/8", "11.0.0.0", false],
  ["10.1.2.3/8", "10.9.9.9", true], // bits after the prefix do not count
  ["0.0.0.0/0", "203.0.113.5", true],
  ["0.0.0.0/0", "2001:db8::1", false], // all of IPv4 is not all of IPv6
  ["2001:db8::/32", "2001:db8:ffff::1", true],
  ["2001:db8::/32", "2001:db9::1", false],
  ["::1", "0:0:0:0:0:0:0:1", true],
  ["fe80::/10", "fe80::1%eth0", true],
  ["10.0.0.0/8, 192.0.2.7 ,::1", "::1", true],
  ["10.0.0.0/8", "", false], // the client has gone
  ["10.0.0.0/8", "unix", false],
  ["unix", "unix", true],
  ["10.0.0.0/8, unix", "unix", true],
  ["10.0.0.0/8, unix", "10.0.0.1", true],
  ["unix", "127.0.0.1", false],
  ["unix", "", false],
];

for (const [setting, address, trusted] of cases) {
  t.test(`${setting ?? "the default"}: ${address || "no address"}`, async (t) => {
    t.equal(proxies(setting).has(address), trusted);
  });
}

for (const wrong of [
  "localhost",
  "10.0.0.0/33",
  "::/129",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "10.0.0.0/-1",
  "fe80::1%eth0",
  "10.0.0.1,,::1",
  "unix:",
  "none,unix",
]) {
  t.test(`refuses ${wrong}`, async (t) => {
    t.throws(() => proxies(wrong), {
      name: "ConfigError",
      message: /^PORTICO_TRUSTED_PROXIES is ".*": must be none, unix, or addresses/,
    });
  });
}
