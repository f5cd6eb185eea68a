/**
 * A process that calls built-in services on a data folder until it is killed. Each round writes its
 * number to every service. It prints a number when all services have acknowledged it.
 */
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { sharedStore } from "../../src/kit/shared-store.js";
import { openServiceStore } from "../../src/store/open.js";
import { openCatalogue } from "../support/catalogue.js";

const [folder = "", start = "1"] = process.argv.slice(2);

const store = sharedStore(() => openServiceStore("sqlite:", folder));
const open = async (service: string) => openCatalogue(service, await BUILT_IN_SERVICES[service]!(), store).call;
const [cache, db, event, lists, notes, url, wallet] = await Promise.all(
  ["cache", "db", "event", "lists", "notes", "url", "wallet"].map(open),
);

if (start === "1") await wallet!("Create", { id: "ada" });
for (let number = Number(start); ; number++) {
  await Promise.all([
    cache!("Increment", { key: "visits" }),
    db!("Create", { table: "people", id: `r${number}`, fields: { number } }),
    event!("Publish", { topic: "orders", payload: { number } }),
    lists!("Push", { list: "groceries", items: [`${number}`] }),
    notes!("Create", { title: `${number}` }),
    url!("Create", { name: `u${number}`, address: `https://example.com/${number}` }),
    wallet!("Credit", { id: "ada", amount: 1, idempotencyKey: `${number}` }),
  ]);
  console.log(number);
}
