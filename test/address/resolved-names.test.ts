// A name in DNS cannot make a process open any number of connections.
import t from "tap";
import { MAX_ADDRESSES, ResolvedNames } from "../../src/address/resolved-names.js";

const addresses = Array.from({ length: MAX_ADDRESSES + 9_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);

t.test("of a name with too many addresses the first ones are used, and the log says so once", async (t) => {
  const lines: unknown[] = [];
  const log = { warn: (...line: unknown[]) => void lines.push(line) };
  const names = new ResolvedNames(
    async () => addresses,
    log,
    () => undefined,
  );
  await names.resolve("many.test");
  await names.resolve("many.test");
  t.same(names.addressesOf("many.test"), addresses.toSorted().slice(0, MAX_ADDRESSES));
  t.same(lines, [[{ name: "many.test" }, "the name has 10000 addresses; only the first 1000 are used"]]);
});

t.test("a name with as many addresses as it may have", async (t) => {
  const lines: unknown[] = [];
  const lookup = async () => addresses.slice(0, MAX_ADDRESSES);
  const names = new ResolvedNames(lookup, { warn: (...line: unknown[]) => void lines.push(line) }, () => undefined);
  await names.resolve("many.test");
  t.equal(names.addressesOf("many.test").length, MAX_ADDRESSES);
  t.same(lines, []);
});
