// `portico auth create issuer` for people, and `set account --link` and `--unlink`.
import t from "tap";
import { openDoor } from "../oauth/browser.js";
import { portico } from "./command-line.js";

t.test("an issuer of people shows where it sends them back to, and never its secret", async (t) => {
  const door = await openDoor(t, { flags: { publicUrl: "https://portico.test" } });
  const env = { PORTICO_URL: door.url, PORTICO_TOKEN: door.admin };
  const auth = (...words: string[]) => portico(["auth", ...words], { env });
  const folder = t.testdir({ secret: "of the issuer\n" });
  const url = "--issuer-url=https://issuer.example";
  const given = [url, "--client-id=portico", `--client-secret-file=${folder}/secret`, "--map=cn=ops,dc=acme=operator"];
  const created = await auth("create", "issuer", "company", ...given, "--create-accounts");
  t.match(created, {
    exit: 0,
    stdout: /Register this callback URL there: https:\/\/portico.test\/oauth\/callback\/company/,
  });
  const listed = await auth("list", "issuers", "-o", "json");
  t.match(listed.stdout, /"group": ?"cn=ops,dc=acme"/);
  t.notMatch(listed.stdout, /of the issuer/);
  t.match((await auth("list", "issuers")).stdout, /company +https:\S+ +portico +\/oauth\/callback\/company/);
  t.match(await auth("create", "issuer", "x", url, "--map=ops=operator"), { exit: 2, stderr: /Give --client-id too/ });
  t.match(await auth("create", "issuer", "x", url, "--client-id=p", "--map=ops"), { exit: 2, stderr: /--map must be/ });
  t.match(await auth("create", "issuer", "x", "--issuer-url=ftp://issuer.example"), {
    exit: 1,
    stderr: /must be https, or http for a loopback address \(--issuer-url\)/,
  });
  t.match(await auth("set", "account", "admin", "--link=company"), { exit: 2, stderr: /--link must be/ });
  t.match(await auth("set", "account", "admin", "--link=company:a:b"), { exit: 0, stdout: /Account linked/ });
  t.match(await auth("set", "account", "admim", "--link=company:c"), { exit: 1, stderr: /admin/ });
  t.match(await auth("set", "account", "admin", "--unlink", "--link=company:c"), { exit: 2 });
  t.match(await auth("set", "account", "admin", "--unlink=other"), {
    exit: 1,
    stderr: /admin is linked to no person of other/,
  });
  const unlinked = { exit: 0, stdout: /Account unlinked from 1 person/ };
  t.match(await auth("set", "account", "admin", "--unlink=company"), unlinked);
  await auth("set", "account", "admin", "--link=company:a");
  t.match(await auth("set", "account", "admin", "--unlink"), unlinked, "from all issuers");
  t.match(await auth("set", "account", "admin", "--unlink"), { exit: 1, stderr: /admin is linked to no person/ });
});
