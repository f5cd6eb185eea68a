/**
 * All instances of a service store their data in one store. The registry refuses an instance with
 * another store.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import t from "tap";
import { BUILT_IN_SERVICES, KEEPING } from "../../../cli/roles/built-in-services.js";
import { Directory } from "../../../services/registry/directory.js";
import { Code } from "../../../src/errors.js";
import type { DataStore, Instance } from "../../../src/gen/portico/registry/v1/registry.js";
import { ownersInMemory } from "../../support/name-owners.js";
import { greeter } from "./instances.js";

const database: DataStore = { id: "1", name: "postgres://db/portico" };
const file: DataStore = { id: "2", name: "/var/lib/portico/services.sqlite" };

function openDirectory() {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  return (id: string, store: DataStore | undefined, more: Partial<Instance> = {}) =>
    directory.join(greeter({ id, store, ...more }), { local: false, token: "token" });
}

t.test("instances on one store join, even if they know the store by different names", async (t) => {
  const join = openDirectory();
  join("a", database);
  t.doesNotThrow(() => join("b", { ...database, name: "postgres://10.0.0.5/portico" }));
});

t.test("an instance on another store is refused, and the error has both stores and the setting", async (t) => {
  const join = openDirectory();
  join("a", database);
  t.throws(() => join("b", file), {
    code: Code.FAILED_PRECONDITION,
    message:
      /keeps its data in \/var\/lib\/portico\/services\.sqlite, and one that runs \(a\) in postgres:\/\/db\/portico: name one store for both in PORTICO_SERVICE_STORE/,
  });
});

t.test("instances that store nothing can join other instances", async (t) => {
  const join = openDirectory();
  join("a", database);
  join("b", undefined);
  t.throws(() => join("c", file), { code: Code.FAILED_PRECONDITION });
});

t.test("another store is accepted after the instances on the first one have left", async (t) => {
  const join = openDirectory();
  const leave = [join("a", database), join("b", database)];
  leave[0]?.();
  t.throws(() => join("c", file), { code: Code.FAILED_PRECONDITION });
  leave[1]?.();
  t.doesNotThrow(() => join("c", file));
});

t.test("an instance that registers again under its id may have another store", async (t) => {
  const join = openDirectory();
  join("a", database);
  t.doesNotThrow(() => join("a", file));
});

t.test("services do not share stores with each other", async (t) => {
  const join = openDirectory();
  join("a", database);
  t.doesNotThrow(() => join("a", file, { service: "other" }));
});

t.test("the built-in services that use the store are those that declare it", async (t) => {
  const users = Object.keys(BUILT_IN_SERVICES).filter((name) => {
    const folder = join("services", name);
    return readdirSync(folder).some((source) => /\.store[<(]/.test(readFileSync(join(folder, source), "utf8")));
  });
  t.same(users, [...KEEPING]);
});
