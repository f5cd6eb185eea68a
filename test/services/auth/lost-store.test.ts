/** A data folder that was ever set up does not start anew when its store is gone. */
import { copyFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Logger, pino } from "pino";
import t, { type Test } from "tap";
import { openAuthority } from "../../../services/auth/authority.js";
import { passwordShown } from "../../../services/auth/bootstrap.js";
import { createToken } from "../../../src/call/token.js";
import { openStore } from "../../../src/store/open.js";
import { CHEAP } from "../../support/passwords.js";
import { temporaryFolder } from "../../support/temporary.js";
import { silent } from "./open.js";

/** Opens the authority of a folder like a process does, and closes it again. */
async function start(folder: string, url = "sqlite:", log: Logger = silent): Promise<{ readonly first: boolean }> {
  const store = await openStore(url, folder);
  try {
    const options = { store, dataFolder: folder, passwordCost: CHEAP, maxRules: 9, leaseMs: 500, log };
    const authority = await openAuthority(options);
    await authority.close();
    passwordShown(folder);
    return { first: authority.firstStart !== undefined };
  } finally {
    await store.close();
  }
}

const store = (folder: string): string => join(folder, "portico.sqlite");

const LOSSES: Record<string, (folder: string) => void> = {
  "its file is deleted": (folder) => rmSync(store(folder)),
  "its file is moved away": (folder) => renameSync(store(folder), `${store(folder)}.old`),
  "its file is deleted, and the record of where it was": (folder) => {
    for (const name of ["portico.sqlite", "store-location"]) rmSync(join(folder, name));
  },
  "its file is deleted, and of the folder's other files only those with enrolment tokens are left": (folder) => {
    for (const name of readdirSync(folder)) if (name !== "enrolment") rmSync(join(folder, name));
  },
  "its file is deleted, and of the folder's other files only the installation's ID is left": (folder) => {
    for (const name of readdirSync(folder))
      if (name !== "installation-id") rmSync(join(folder, name), { recursive: true });
  },
};

for (const [what, lose] of Object.entries(LOSSES)) {
  t.test(`a store is refused when ${what}`, async (t) => {
    const folder = temporaryFolder(t);
    t.ok((await start(folder)).first);
    lose(folder);
    for (const attempt of ["once", "again"]) {
      const error = await start(folder).then(
        () => undefined,
        (error) => error,
      );
      t.equal(error?.name, "StoreError", attempt);
      t.ok(error?.message.startsWith(`store ${store(folder)} does not exist, but the data folder ${folder} belongs`));
      t.match(
        error?.message,
        /restore the store from a backup, or name it in PORTICO_STORE\. To start anew on purpose/,
      );
    }
  });
}

t.test("a start on another store than before logs this once", async (t) => {
  const folder = temporaryFolder(t);
  await start(folder);
  const copy = join(folder, "copy.sqlite");
  copyFileSync(store(folder), copy);
  const logged: object[] = [];
  const log = pino({ level: "warn" }, { write: (line) => void logged.push(JSON.parse(line)) });
  await start(folder, `sqlite:${copy}`, log);
  t.match(logged, [
    { level: 40, before: store(folder), store: copy, msg: /^this is another store than at the last start\./ },
  ]);
  await start(folder, `sqlite:${copy}`, log);
  t.equal(logged.length, 1);
});

t.test("a start logs nothing if the data folder moved together with its store", async (t) => {
  const folder = temporaryFolder(t);
  const [before, after] = [join(folder, "before"), join(folder, "after")];
  await start(before);
  renameSync(before, after);
  const logged: string[] = [];
  await start(after, "sqlite:", pino({ level: "warn" }, { write: (line) => void logged.push(line) }));
  t.same(logged, []);
});

t.test("a wrong PORTICO_STORE is refused, and the error names the right store", async (t) => {
  const folder = join(temporaryFolder(t), "data");
  const right = join(temporaryFolder(t), "right.sqlite");
  t.ok((await start(folder, `sqlite:${right}`)).first);
  t.notOk((await start(folder, `sqlite:${right}`)).first);
  const wrong = join(folder, "wrong.sqlite");
  await t.rejects(start(folder, `sqlite:${wrong}`), {
    message: `store ${wrong} does not exist, but the data folder ${folder} belongs to an installation in ${right}: `,
  });
});

t.test("after a change to a copy of the store, the error names the copy", async (t) => {
  const folder = join(temporaryFolder(t), "data");
  const copy = join(folder, "copy.sqlite");
  await start(folder);
  copyFileSync(store(folder), copy);
  t.notOk((await start(folder, `sqlite:${copy}`)).first);
  rmSync(copy);
  rmSync(store(folder));
  await t.rejects(start(folder), { message: `belongs to an installation in ${copy}: ` });
});

t.test("a store without entries is refused if the folder was set up with a store", async (t) => {
  const folder = join(temporaryFolder(t), "data");
  await start(folder);
  rmSync(store(folder));
  const empty = await openStore("sqlite:", join(folder, "..", "other"));
  await empty.close();
  renameSync(empty.name, store(folder));
  await t.rejects(start(folder), {
    message: /is without any entry, but the data folder .* belongs to an installation/,
  });
});

t.test("a second data folder on the store also refuses to start without it", async (t) => {
  const both = temporaryFolder(t);
  const [first, second] = [join(both, "first"), join(both, "second")];
  t.ok((await start(first)).first);
  t.notOk((await start(second, `sqlite:${store(first)}`)).first);
  rmSync(store(first));
  await t.rejects(start(second, `sqlite:${store(first)}`), { message: /belongs to an installation/ });
});

/** The content of a data folder before its first start. */
const BEFORE: Record<string, Parameters<Test["testdir"]>[0]> = {
  nothing: {},
  "a configuration file": { "portico.json": "{}" },
  certificates: { "tls.crt": "", "tls.key": "" },
  "an enrolment token of a service": { enrolment: { cache: createToken("enrolment") } },
  "an enrolment token of gateways": { enrolment: { gateway: createToken("enrolment") } },
  "data of a service that has joined another installation": { services: { cache: { "services.sqlite": "" } } },
};
for (const [what, content] of Object.entries(BEFORE)) {
  t.test(`a data folder with ${what} starts as a new installation`, async (t) =>
    t.ok((await start(t.testdir(content))).first),
  );
}

t.test("a start completes an interrupted first start, even if that left enrolment tokens", async (t) => {
  const [gateway, helloworld] = [createToken("enrolment"), createToken("enrolment")];
  const folder = t.testdir({ enrolment: { gateway, helloworld } });
  const elsewhere = await openStore("sqlite:", temporaryFolder(t));
  await elsewhere.close();
  renameSync(elsewhere.name, store(folder));
  t.ok((await start(folder)).first);
});
