/** The built program with a shop behind it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";
import { openShop, type Shop } from "./shop.js";

export { ADMIN_PASSWORD } from "../../support/installation.js";

export interface ShopFront {
  readonly shop: Shop;
  /** The gateway's origin. */
  readonly origin: string;
  /** A folder for the files of a test. */
  readonly folder: string;
}

/**
 * The shop front ends with the test.
 * @param ownServices the built-in services that run
 */
export async function openShopFront(t: Test, ownServices = "helloworld"): Promise<ShopFront> {
  const folder = t.testdir({});
  const shop = await openShop(folder);
  t.teardown(() => shop.close());
  const config = join(folder, "portico.json");
  writeFileSync(config, JSON.stringify({ services: [shop.entry] }));
  const data = await installation(join(folder, "data"));
  const env = { PORTICO_DATA: data, PORTICO_CONFIG: config, PORTICO_OWN_SERVICES: ownServices };
  const portico = await start(["server"], env);
  t.teardown(() => portico.stop());
  const origin = portico.address("HTTP");
  await shop.untilServed(origin);
  return { shop, origin, folder };
}
