// What commands have made is exported, applied to a new installation, and exported from there: both
// files are equal.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { temporaryFolder } from "../../support/temporary.js";
import { openInstallation } from "./servers.js";

/** Everything that has a command and is no secret, with every option. */
function commandsFor(descriptors: string, rules: string): string[][] {
  const made: [command: string, ...options: string[]][] = [
    ["auth create rule staff", "--access=granted", "--scope=staff", "--resource=service:helloworld:*", "--priority=7"],
    ["auth create rule off", "--access=denied", "--scope=*", "--resource=*:*:*", "--disabled"],
    ["auth set rule default", "--priority=-3"],
    ["auth create limit ci", "--rate=100/s", "--per=account", "--shadow"],
    ["auth create limit big", "--rate=10/m", "--burst=500", "--quota=9000/month", "--concurrent=3", "--per=key"],
    ["auth create limit qr", "--concurrent=20", "--per=everyone", "--scope=staff", "--resource=service:qr:*"],
    ["auth create account ci", "--service", "--scope=staff", "--scope=1", "--scope=true"],
    ["auth create account eve@example.com", "--service"],
    ["auth set account eve@example.com", "--disabled"],
    ["auth create issuer github", "--issuer-url=https://token.actions.githubusercontent.com"],
    [
      "auth create trust deploy",
      ...[
        "--issuer=github",
        "--account=ci",
        "--audience=https://api.example",
        "--subject=repo:acme/shop:*",
        "--bearer",
      ],
    ],
    ["services add plain", "127.0.0.1:1"],
    [
      "services add shop",
      ...["grpcs://127.0.0.1:2=95", "unix:/run/shop.sock=5", "--descriptors", descriptors, "--http-rules", rules],
      ...[
        "--identity",
        "--assertion",
        "--metadata=x-tenant",
        "--metadata=x-cost",
        "--prefix=/api",
        "--credential=shop",
      ],
      ...["--credential-header=x-key", "--ca=ca.pem", "--cert=cert.pem", "--key=key.pem", "--server-name=shop.example"],
      ...["--call-time=2.5s", "--max-message=2MiB", "--max-concurrent=50", "--names=proto", "--omit-zeros"],
      ...["--unknown=ignore", "--rest=grpc-gateway", "--status=12=404", "--status=2000-2999=400"],
      ...["--status-metadata=x-http-code", "--show-unknown"],
    ],
  ];
  return made.map(([command, ...options]) => [...command.split(" "), ...options]);
}

t.test("export, apply and export again give the same file", async (t) => {
  const files = temporaryFolder(t);
  const [descriptors, rules] = [join(files, "shop.binpb"), join(files, "rules.yaml")];
  writeFileSync(descriptors, descriptorsOf("helloworld"));
  writeFileSync(rules, "type: google.api.Service\nhttp:\n  rules: []\n");
  const one = await openInstallation(t);
  for (const command of commandsFor(descriptors, rules)) {
    const { exit, stderr } = await one.run(...command);
    t.equal(exit, 0, `${command.slice(0, 4).join(" ")} ${stderr}`);
  }
  const exported = await one.run("export");
  t.equal(exported.exit, 0, exported.stderr);
  t.matchSnapshot === undefined ||
    t.match(exported.stdout, /^# yaml-language-server: \$schema=portico\.schema\.json\n/);
  const other = await openInstallation(t);
  const path = other.write(exported.stdout);
  const applied = await other.run("apply", "-f", path);
  t.equal(applied.exit, 0, applied.stderr);
  t.match(applied.stderr, /^Created without a password: ci, eve@example\.com\. .*portico auth set password ci$/m);
  t.equal((await other.run("export")).stdout, exported.stdout);
  const again = await other.run("apply", "-f", path, "--prune");
  t.match(again.stderr, /^Nothing to change$/m);
  t.equal((await one.run("diff", "-f", path, "--prune", "--exit-code")).exit, 0);
});
