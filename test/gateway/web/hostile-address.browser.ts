// An address may have any text, such as a link that was cut off. The page says what is wrong with
// it, and stays usable.
import t from "tap";
import { open, untilSettled } from "./browser.js";
import { visitAgain } from "./console-browser.js";

const ADDRESSES = [
  "/console/usage?start=nonsense",
  "/console/usage?span=nonsense&start=2026-11-24T00:00:00Z",
  "/console/usage?span=nonsense",
  "/console/audit?from=nonsense",
  "/console/audit?until=2026-99999999-01",
  "/console/refusals?span=nonsense",
  "/console/accounts/%00",
];

t.test("addresses that no page has made", { timeout: 120_000 }, async (t) => {
  const { page, signIn } = await visitAgain(t, await open(t), "/console");
  await signIn();
  const thrown: string[] = [];
  page.on("pageerror", ({ message }) => thrown.push(message));
  for (const address of ADDRESSES) {
    await t.test(address, async (t) => {
      await page.goto(address);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await untilSettled(page);
      t.same(thrown.splice(0), []);
      t.ok(await page.getByRole("navigation", { name: "Console" }).isVisible());
    });
  }
});
