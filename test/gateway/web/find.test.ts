// The search of Ctrl+K: what a few letters find, in which order, and how fast.
import t from "tap";
import { find, prepare } from "../../../gateway/web/palette/find.js";

const ENTRIES = prepare([
  { title: "kitchen", detail: "service" },
  { title: "Kitchen.PlaceOrder", detail: "kitchen" },
  { title: "Kitchen.GetOrder", detail: "kitchen" },
  { title: "idempotency_key", detail: "kitchen Kitchen.PlaceOrder" },
  { title: "Orders.List", detail: "orders" },
  { title: "API keys", detail: "page" },
  { title: "finance-may-read", detail: "rule finance service:orders:*" },
]);

const titles = (query: string) => find(ENTRIES, query, 10).entries.map(({ title }) => title);

const CASES: readonly { query: string; first: string; why: string }[] = [
  { query: "kitchen", first: "kitchen", why: "the whole name" },
  { query: "ORDERS", first: "Orders.List", why: "in any case" },
  { query: "order place", first: "Kitchen.PlaceOrder", why: "words in any order" },
  { query: "kitchen/GetOrder", first: "Kitchen.GetOrder", why: "a path, as it is copied" },
  { query: "idempotncy", first: "idempotency_key", why: "a letter left out" },
  { query: "idempotenncy", first: "idempotency_key", why: "a letter too many" },
  { query: "idempotancy", first: "idempotency_key", why: "a wrong letter" },
  { query: "idmepotency", first: "idempotency_key", why: "two letters exchanged" },
  { query: "plord", first: "Kitchen.PlaceOrder", why: "the beginnings of words" },
  { query: "kpo", first: "Kitchen.PlaceOrder", why: "the first letters of words" },
  { query: "key", first: "API keys", why: "the beginning of a word; the shorter name first" },
  { query: "finance", first: "finance-may-read", why: "a rule" },
];

t.test("finds by a few letters, the best first", async (t) => {
  for (const { query, first, why } of CASES) t.equal(titles(query)[0], first, `${query}: ${why}`);
});

t.test("does not find what is something else", async (t) => {
  for (const query of ["xyzzy", "kitchen xyzzy", "idempxxncy", "zzz", ".*"]) t.same(titles(query), [], query);
});

t.test("an empty query finds all in the given order, and tells how many there are", async (t) => {
  const { entries, total } = find(ENTRIES, " ", 2);
  t.same([entries.map(({ title }) => title), total], [["kitchen", "Kitchen.PlaceOrder"], 7]);
});

/** Milliseconds for a key. */
const MAX_MS = 30;

t.test("a key takes little time with 10,000 endpoints", async (t) => {
  const many = prepare(
    Array.from({ length: 1_000 }, (_, service) => `service-${service}`).flatMap((service) => [
      ...Array.from({ length: 10 }, (_, at) => ({ title: `Things${at}.PlaceManyOrders${at}`, detail: service })),
      ...Array.from({ length: 40 }, (_, at) => ({
        title: `field_name_${at % 4}${at}`,
        detail: `${service} Things.Do`,
      })),
    ]),
  );
  for (const query of ["p", "pl", "plord", "plmaor7", "fieldnmae_22", "service-99 place"]) {
    const times = Array.from({ length: 5 }, () => {
      const begun = process.cpuUsage();
      const { total } = find(many, query, 50);
      t.ok(total > 0, query);
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 1_000;
    });
    // The fastest: the first are compiled meanwhile.
    const ms = Math.min(...times);
    t.ok(ms < MAX_MS, `${query}: ${ms.toFixed(1)} ms`);
  }
});
