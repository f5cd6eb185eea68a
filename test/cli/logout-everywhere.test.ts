// `portico logout --everywhere` ends the account's logins on all computers and on the pages.
import { join } from "node:path";
import t from "tap";
import { ADMIN_PASSWORD } from "../gateway/deployment.js";
import { SessionPage } from "../gateway/page-session.js";
import { openDoor } from "../oauth/browser.js";
import { portico } from "./command-line.js";

t.test("every other login ends, and a session of the pages", async (t) => {
  const home = t.testdir({ one: {}, other: {} });
  const door = await openDoor(t);
  const computer = (name: string) => {
    const HOME = join(home, name);
    return { env: { PORTICO_URL: door.url, PORTICO_PASSWORD: ADMIN_PASSWORD, HOME } };
  };
  const [one, other] = [computer("one"), computer("other")];
  const page = await SessionPage.open(door.url);
  const { accessToken } = (await page.start({ account: "admin", password: ADMIN_PASSWORD })).body;
  for (const env of [one, other]) t.match(await portico(["login"], env), { exit: 0 });
  t.match(await portico(["logout", "--everywhere"], one), { exit: 0, stderr: /Logged out everywhere of/ });
  t.match(await portico(["user"], other), { exit: 4 });
  t.equal(await door.statusOf(accessToken!), 401);
  t.match(await page.post("/session/challenge"), { status: 401 });
  t.match(await portico(["logout", "--everywhere"], one), { exit: 4, stderr: /Log in first/ });
  t.match(await portico(["logout"], one), { exit: 0, stderr: /Not logged in/ });
});
