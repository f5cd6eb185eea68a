// A cached caller is confirmed only if no change since concerned it, whatever else has changed, and
// how often.

import t from "tap";
import { CallerChanges, ChangedCallers } from "../../src/access/callers/caller-changes.js";
import { KnownCaller } from "../../src/access/callers/known-caller.js";
import { fc } from "../support/properties.js";

function callerOf(hash: string, account: string, namespace: string, confirmedAt: number, enrolment = ""): KnownCaller {
  const expires = { seconds: 4_000_000_000n, nanos: 0 };
  return new KnownCaller(
    Buffer.from(hash, "latin1"),
    { namespace, namespaceId: "", account, scopes: [], expires, resources: [], from: [], reportUse: false, enrolment },
    confirmedAt,
  );
}

interface About {
  readonly token?: string;
  readonly account?: readonly [namespace: string, account: string];
  readonly namespace?: string;
}

function changeOf({ token, account, namespace }: About): ChangedCallers {
  const changed = new ChangedCallers();
  if (token !== undefined) changed.tokens.add(token);
  if (account !== undefined) changed.addAccount(...account);
  if (namespace !== undefined) changed.namespaces.add(namespace);
  return changed;
}

t.test("a changed caller is no longer confirmed, other callers are", async (t) => {
  const changes = new CallerChanges();
  const bob = () => callerOf("hash of bob", "bob", "default", changes.version);
  const ABOUT_BOB: About[] = [{ token: "hash of bob" }, { account: ["default", "bob"] }, { namespace: "default" }];
  const ABOUT_OTHERS: About[] = [
    { token: "another hash" },
    { account: ["default", "ann"] },
    { account: ["other", "bob"] },
    { namespace: "other" },
  ];
  let revision = 0n;
  for (const about of ABOUT_BOB) {
    const kept = bob();
    changes.add(++revision, changeOf(about));
    t.notOk(changes.confirm(kept), JSON.stringify(about));
    changes.add(++revision, changeOf({ token: "more" }));
    t.notOk(changes.confirm(kept), "nor after further changes");
  }
  for (const about of ABOUT_OTHERS) {
    const kept = bob();
    changes.add(++revision, changeOf(about));
    t.ok(changes.confirm(kept), JSON.stringify(about));
  }
  const enrolled = callerOf("hash", "", "default", changes.version, "greeter");
  changes.add(++revision, changeOf({ namespace: "default", account: ["default", ""] }));
  t.ok(changes.confirm(enrolled), "an enrolment belongs to no account");
  changes.add(++revision, changeOf({ token: "hash" }));
  t.notOk(changes.confirm(enrolled));
});

t.test("after a snapshot no earlier caller is confirmed, even at the same revision", async (t) => {
  const changes = new CallerChanges();
  changes.add(7n, changeOf({ token: "x" }));
  const kept = callerOf("hash", "bob", "default", changes.version);
  for (const revision of [9n, 7n, 3n]) {
    changes.addAll(revision);
    t.notOk(changes.confirm(kept), `snapshot of revision ${revision}`);
    t.equal(changes.revision, revision);
    const found = callerOf("hash", "bob", "default", changes.versionOf(revision));
    t.ok(changes.confirm(found), "one that was found since is");
    t.notOk(
      changes.confirm(callerOf("hash", "bob", "default", changes.versionOf(revision - 1n))),
      "one from before not",
    );
  }
});

t.test("a revision after the last change has the version of the last change", async (t) => {
  const changes = new CallerChanges();
  changes.add(5n, changeOf({ token: "x" }));
  const kept = callerOf("hash", "bob", "default", changes.versionOf(9n));
  t.ok(changes.confirm(kept));
  changes.add(8n, changeOf({ token: "hash" }));
  t.notOk(changes.confirm(kept), "it is asked for again rather once too often");
});

t.test("a caller that was not used during very many changes is looked up again", async (t) => {
  const changes = new CallerChanges();
  const kept = callerOf("hash", "bob", "default", 0);
  const used = callerOf("used", "ann", "default", 0);
  for (let index = 1; index <= 50_000; index++) {
    changes.add(BigInt(index), changeOf({ token: `token ${index}` }));
    if (index % 1_000 === 0 && !changes.confirm(used)) t.fail(`asked for again after ${index} changes`);
  }
  t.notOk(changes.confirm(kept));
  changes.add(50_001n, changeOf({ token: "used" }));
  t.notOk(changes.confirm(used));
});

t.test("generated changes: a confirmed caller has none of the changes since", async (t) => {
  const name = fc.constantFrom("a", "b", "c");
  const step = fc.oneof(
    fc.record({ token: name }),
    fc.record({ account: fc.tuple(fc.constantFrom("n", "m"), name) }),
    fc.record({ namespace: fc.constantFrom("n", "m") }),
    fc.constant("use" as const),
    fc.constant("snapshot" as const),
  );
  const kept = fc.record({ hash: name, account: name, namespace: fc.constantFrom("n", "m") });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), kept, (steps, { hash, account, namespace }) => {
      const changes = new CallerChanges();
      const caller = callerOf(hash, account, namespace, 0);
      let isRight = true;
      let revision = 0n;
      for (const about of steps) {
        if (about === "snapshot") {
          changes.addAll(++revision);
          isRight = false;
        } else if (about !== "use") {
          changes.add(++revision, changeOf(about as About));
          isRight &&= !changeOf(about as About).has(caller);
        }
        if (about === "use" && changes.confirm(caller) !== isRight) return false;
      }
      return changes.confirm(caller) === isRight;
    }),
  );
  t.pass("no counterexample");
});
