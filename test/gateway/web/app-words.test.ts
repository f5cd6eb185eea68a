// How the console says which program a grant is for, what it may call, and how often it has.
import t from "tap";
import { callsOfApp, claimedName, mayCall, nameOfApp } from "../../../gateway/web/console/app-words.js";
import type { KeyUsage } from "../../../src/api/types.js";

for (const [clientId, clientName, name, claimed] of [
  ["https://claude.ai/client.json", "Claude", "claude.ai", "Claude"],
  ["https://claude.ai/client.json", "claude.ai", "claude.ai", undefined],
  ["app", "app", "app", undefined],
  ["portico-cli", "Portico's command line", "Portico's command line", undefined],
  ["portico-cli", "build box", "Portico's command line", "build box"],
] as const) {
  t.test(`${clientId}, which calls itself ${clientName}`, (t) => {
    t.equal(nameOfApp({ clientId }), name);
    t.equal(claimedName({ clientId, clientName }), claimed);
    t.end();
  });
}

const EVERYTHING = "Everything its account may: administration and API keys too";
for (const [pattern, words] of [
  ["*:*:*", EVERYTHING],
  ["service:*:*", "All services"],
  ["service:orders:*", "orders"],
  ["service:ord*:*", "Services ord*"],
  ["service:orders:Orders.Get", "orders: Orders.Get"],
  ["record:a:b", "record:a:b"],
] as const) {
  t.test(`${pattern} in words`, (t) => {
    t.same(mayCall({ resources: [pattern] }), [words]);
    t.end();
  });
}

t.test("a grant without limits says so, and only calls for its account count", (t) => {
  t.same(mayCall({ resources: [] }), [EVERYTHING]);
  const used = (key: string, account: string, total: string) => ({ key, account, calls: { total } }) as KeyUsage;
  const usage = [used("agent:claude.ai", "bob", "7"), used("agent:claude.ai", "ann", "3"), used("", "ann", "9")];
  const grant = { clientId: "https://claude.ai/client.json", account: "ann" };
  t.equal(callsOfApp(grant, usage), 3);
  t.equal(callsOfApp({ ...grant, account: "eve" }, usage), 0);
  t.end();
});
