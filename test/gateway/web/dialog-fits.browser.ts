// No part of a dialog is behind its buttons in any window: the field to confirm an action can be
// seen and clicked.
import t from "tap";
import { ADMIN_PASSWORD, open, visit } from "./browser.js";
import { chooseFor } from "./console-browser.js";

const WINDOWS = [
  { title: "a desk", width: 1280, height: 900 },
  { title: "a phone", width: 360, height: 640 },
  { title: "a phone on its side", width: 640, height: 360 },
  // Half as many CSS pixels in each direction.
  { title: "a phone at 200 %", width: 180, height: 320 },
  { title: "a laptop at 200 %", width: 640, height: 400 },
] as const;

/** Rectangles of the controls and of the footer, as they are in the window now. */
const PLACES = `[...document.querySelectorAll("dialog[open] :is(input, select, textarea)")].map((control) => {
  control.scrollIntoView({ block: "nearest" });
  const { top, bottom, left, right } = control.getBoundingClientRect();
  const end = document.querySelector("dialog[open] .dialog-end").getBoundingClientRect();
  const dialog = document.querySelector("dialog[open]").getBoundingClientRect();
  const isInEnd = control.closest(".dialog-end") !== null;
  const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return {
    behind: !isInEnd && bottom > end.top + 1 && top < end.bottom - 1,
    outside: top < dialog.top - 1 || bottom > dialog.bottom + 1,
    isOnTop: hit === control,
  };
})`;

t.test("dialogs fit", { timeout: 200_000 }, async (t) => {
  const setting = await open(t);
  const asked = { account: "admin", password: ADMIN_PASSWORD };
  const post = (path: string, body: unknown, token = "") =>
    fetch(setting.origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
  const { accessToken } = (await (await post("/auth/Auth/Login", asked)).json()) as { accessToken: string };
  const rule = { id: "r".repeat(64), scope: "<public>", access: "DENIED", resource: "service:shop:*", priority: 9 };
  t.equal((await post("/v1/auth/Rules/Create", { rule }, accessToken)).status, 200);

  for (const { title, width, height } of WINDOWS) {
    t.test(`${title}, ${width} × ${height}`, async (t) => {
      const { page } = await visit(t, setting, "/console/rules", { width: 1280, height: 900 });
      await page.getByLabel("Account").fill("admin");
      await page.getByLabel("Password").fill(ADMIN_PASSWORD);
      await page.locator("main").getByRole("button", { name: "Sign in" }).click();
      await chooseFor(page, rule.id, "Delete");
      const dialog = page.getByRole("dialog");
      await dialog.getByText("These calls will be answered differently").waitFor();
      await page.setViewportSize({ width, height });
      const confirm = dialog.getByRole("textbox");
      // An error makes the footer higher.
      await page.route("**/Rules/Delete", (route) => route.abort());
      for (const state of ["asked", "failed"]) {
        const places = await page.evaluate<object[]>(PLACES);
        t.ok(places.length > 0);
        for (const place of places) t.same(place, { behind: false, outside: false, isOnTop: true }, state);
        if (state === "failed") break;
        await confirm.fill(rule.id);
        await confirm.press("Enter");
        await dialog.getByRole("alert").waitFor();
      }
      if (height < 700) await page.screenshot({ path: `test-artifacts/dialog-${width}.png` });
      const button = dialog.getByRole("button", { name: "Delete rule" });
      await button.scrollIntoViewIfNeeded();
      t.ok(await button.isVisible());
    });
  }
});
