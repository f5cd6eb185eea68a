/**
 * A process that opens the authority on a data folder, logs in and creates rules, several at once,
 * with the names `<name>-<number>`. It prints a name once its rule is acknowledged. It stops after
 * a number of rules, or never.
 */
import { pino } from "pino";
import { openAuthority } from "../../../services/auth/authority.js";
import { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { hashToken } from "../../../src/call/token.js";
import { Access } from "../../../src/gen/portico/auth/v1/rules.js";
import { type BuiltInContext, grpcServiceOf } from "../../../src/rpc/service.js";
import { openStore } from "../../../src/store/open.js";
import { CHEAP } from "../../support/passwords.js";

const [folder = "", name = "", count = "Infinity"] = process.argv.slice(2);
const AT_ONCE = 4;

const store = await openStore("sqlite:", folder);
const log = pino({ level: "silent" });
const adminPassword = "correct horse battery";
const passwordCost = CHEAP;
const options = { store, dataFolder: folder, adminPassword, passwordCost, maxRules: 1_000_000, leaseMs: 500, log };
const authority = await openAuthority(options);

/** Calls as if the guard had granted the call. */
function call(service: string, method: string, request: unknown, caller?: KnownCaller) {
  const part = authority.service.parts.find((each) => grpcServiceOf(each) === `portico.auth.v1.${service}`);
  if (part === undefined || "load" in part) throw new Error(`the authority has no ${service}`);
  return part.implementation[method]?.(request, {
    caller,
    clientAddress: "",
    metadata: [],
  } as unknown as BuiltInContext);
}

const { accessToken } = await call("Auth", "login", { account: "admin", password: adminPassword, namespace: "" });
const sha256 = hashToken(accessToken);
const { results } = await call("Policy", "batchResolve", { sha256: [sha256] });
const caller = new KnownCaller(sha256, results[0].caller, 0);

let next = 0;
async function write(): Promise<void> {
  while (next < Number(count)) {
    const id = `${name}-${next++}`;
    const rule = { id, scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
    await call("Rules", "create", { rule }, caller);
    process.stdout.write(`${id}\n`);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, write));
await authority.close();
await store.close();
