/**
 * A process that opens the authority on a data folder and creates rules, several at once, each named
 * `<name>-<number>`; it prints a name once its rule was acknowledged. Stops after a number of rules, or never.
 */
import { pino } from "pino";
import { openAuthority } from "../../services/auth/authority.js";
import { Access } from "../../src/gen/portico/auth/v1/rules.js";
import type { Context } from "../../src/rpc/service.js";
import { openStore } from "../../src/store.js";

const [folder = "", name = "", count = "Infinity"] = process.argv.slice(2);
const AT_ONCE = 4;

const store = await openStore("sqlite:", folder);
const log = pino({ level: "silent" });
const authority = await openAuthority({ store, dataFolder: folder, maxRules: 1_000_000, leaseMs: 500, log });
const rules = authority.service.parts.find(
  ({ grpcService }) => grpcService === "portico.auth.v1.Rules",
)?.implementation;
const caller = { namespace: "default", account: "admin", scopes: ["admin"], expires: Number.MAX_VALUE, resources: [] };

let next = 0;
async function write(): Promise<void> {
  while (next < Number(count)) {
    const id = `${name}-${next++}`;
    const rule = { id, scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0 };
    await rules?.create?.({ rule }, { caller } as unknown as Context);
    process.stdout.write(`${id}\n`);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, write));
await authority.close();
await store.close();
