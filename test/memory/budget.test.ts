// How much of a process's memory budget each client may reserve, and that everything is released in
// the end.
import assert from "node:assert/strict";
import t from "tap";
import { TrustedProxies } from "../../src/address/client-address.js";
import { type ConnectionMemory, MemoryBudget } from "../../src/memory/memory-budget.js";
import { fc } from "../support/properties.js";

const LIMIT = 100_000_000;

/** Bytes that 100 connections may reserve in any case. */
const LITTLE = 100 * 16 * 1024;

/** How much a connection can reserve, in steps of 10,000 bytes. */
function fill(memory: ConnectionMemory): number {
  const before = memory.reserved;
  while (memory.tryReserve(10_000));
  return memory.reserved - before;
}

t.test("the budget is a third of the memory that the process may take, at most 256 MiB", async (t) => {
  t.equal(new MemoryBudget().limit, 256 * 1024 ** 2);
  t.equal(new MemoryBudget({ memory: 300_000_000 }).limit, 100_000_000);
  t.equal(new MemoryBudget({ memory: 64_000_000_000 }).limit, 256 * 1024 ** 2);
  t.equal(new MemoryBudget({ memory: 300_000_000, maxBody: 10_000_000 }).limit, 120_000_000, "or twelve bodies");
});

t.test("one connection may reserve a fifth, which is a quarter of what is then free", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  t.equal(fill(budget.open("192.0.2.1")), LIMIT / 5);
});

t.test("one address may reserve half, with all its connections", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  for (let connection = 0; connection < 100; connection++) fill(budget.open("192.0.2.1"));
  t.ok(budget.reserved <= LIMIT / 2 + LITTLE && budget.reserved > LIMIT / 2 - LITTLE, `${budget.reserved} bytes`);
  t.ok(budget.open("192.0.2.2").tryReserve(5_000_000), "another address still gets some");
});

t.test("the addresses of an IPv6 /64 network count as one; two networks count as two", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  for (let host = 1; host < 100; host++) fill(budget.open(`2001:db8::${host.toString(16)}`));
  t.ok(budget.reserved <= LIMIT / 2 + LITTLE, "half");
  t.equal(budget.addresses, 1);
  budget.open("2001:db8:0:1::1");
  t.equal(budget.addresses, 2);
});

t.test("many addresses together leave memory for another one", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  for (let address = 0; address < 100; address++) fill(budget.open(`192.0.2.${address}`));
  t.ok(budget.open("198.51.100.1").tryReserve(16_000), "a little is everyone's, however short memory is");
});

t.test("a trusted proxy has a limit only for each connection", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT, trustedProxies: TrustedProxies.parse("192.0.2.0/24") });
  t.equal(fill(budget.open("192.0.2.1")), LIMIT / 5);
  for (let connection = 0; connection < 20; connection++) fill(budget.open("192.0.2.1"));
  t.ok(budget.reserved > LIMIT * 0.9, `${budget.reserved} bytes`);
});

t.test("a connection to a service may reserve half of the memory", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  t.equal(fill(budget.openUpstream()), LIMIT / 2);
});

t.test("bodies of the maximum size fit, however large that is", async (t) => {
  const maxBody = 1024 ** 3;
  const budget = new MemoryBudget({ maxBody });
  for (let client = 0; client < 4; client++)
    t.ok(budget.open(`192.0.2.${client}`).tryReserve(maxBody), `body ${client}`);
});

t.test("a closed connection has reserved nothing, and cannot reserve", async (t) => {
  const budget = new MemoryBudget({ limit: LIMIT });
  const memory = budget.open("192.0.2.1");
  memory.tryReserve(1_000);
  memory.close();
  memory.release(1_000);
  memory.close();
  t.notOk(memory.tryReserve(1_000));
  t.equal(budget.reserved, 0);
  t.equal(budget.addresses, 0);
});

t.test("after any sequence of reserving, resizing and closing the sums are correct, and end at zero", async () => {
  const step = fc.record({
    connection: fc.nat(9),
    does: fc.constantFrom("resize", "resize", "resize", "close"),
    bytes: fc.nat(30_000_000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const budget = new MemoryBudget({ limit: LIMIT, trustedProxies: TrustedProxies.parse("192.0.2.3") });
      const open = () => Array.from({ length: 10 }, (_, index) => budget.open(`192.0.2.${index % 4}`));
      const connections = open();
      const held = connections.map(() => 0);
      for (const { connection, does, bytes } of steps) {
        const memory = connections[connection] as ConnectionMemory;
        const before = held[connection] as number;
        if (does === "close") {
          memory.close();
          connections[connection] = budget.open(`192.0.2.${connection % 4}`);
          held[connection] = 0;
        } else if (memory.tryResize(before, bytes)) held[connection] = bytes;
        else assert.ok(bytes > before && bytes > 16 * 1024, "less, and little, always fits");
        assert.equal(
          budget.reserved,
          held.reduce((sum, one) => sum + one, 0),
        );
        assert.ok(budget.reserved <= LIMIT + 10 * 16 * 1024);
      }
      for (const memory of connections) memory.close();
      assert.equal(budget.reserved, 0);
      assert.equal(budget.addresses, 0);
    }),
  );
});
