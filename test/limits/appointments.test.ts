// Since when an authority lends a subject, after the list of lenders has changed.
import t from "tap";
import { Appointments } from "../../services/auth/limits/appointments.js";
import { lenderOf } from "../../src/limits/lenders.js";

/** A subject that `a` lends whoever else is in the list, or `b` if `a` is not. */
const SUBJECT = subjectWhere((of) => of("a", "b") === "a" && of("a", "b", "c") === "a" && of("b", "c") === "b");

function subjectWhere(fits: (of: (...ids: string[]) => string) => boolean): string {
  for (let number = 0; ; number++) {
    const subject = `subject ${number}`;
    if (fits((...ids) => lenderOf(subject, ids))) return subject;
  }
}

/** What happens to the appointments of `a`: a list by its revision, its settling, or a reset. */
type Step = readonly [revision: number, ...ids: string[]] | { settled: number; at: number } | "reset";

interface Case {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly since: number | undefined;
}

const CASES: readonly Case[] = [
  { name: "no list", steps: [], since: undefined },
  { name: "a list that is not settled", steps: [[1, "a"]], since: undefined },
  { name: "a settled list", steps: [[1, "a"], { settled: 1, at: 10 }], since: 10 },
  { name: "a list without it", steps: [[1, "b"], { settled: 1, at: 10 }], since: undefined },
  {
    name: "another authority joins: it lends all the time what it keeps",
    steps: [[1, "a"], { settled: 1, at: 10 }, [2, "a", "b"]],
    since: 10,
  },
  {
    name: "another authority leaves: so, too",
    steps: [[1, "a", "b"], { settled: 1, at: 10 }, [2, "a"], { settled: 2, at: 20 }],
    since: 10,
  },
  {
    name: "a gained subject, before the change is settled",
    steps: [[1, "b", "c"], { settled: 1, at: 10 }, [2, "a", "b", "c"]],
    since: undefined,
  },
  {
    name: "a gained subject",
    steps: [[1, "b", "c"], { settled: 1, at: 10 }, [2, "a", "b", "c"], { settled: 2, at: 20 }],
    since: 20,
  },
  {
    name: "it was away: the time before does not count",
    steps: [[1, "a"], { settled: 1, at: 10 }, [2, "b"], { settled: 2, at: 20 }, [3, "a", "b"]],
    since: undefined,
  },
  {
    name: "it was away, and is back",
    steps: [[1, "a"], { settled: 1, at: 10 }, [2, "b"], [3, "a", "b"], { settled: 2, at: 20 }, { settled: 3, at: 30 }],
    since: 30,
  },
  {
    name: "two changes, and only the second is known to be settled",
    steps: [[1, "b"], { settled: 1, at: 10 }, [2, "a", "b"], [3, "a", "c"], { settled: 3, at: 30 }],
    since: undefined,
  },
  {
    name: "the first time counts at which a list is settled",
    steps: [[1, "a"], { settled: 1, at: 10 }, { settled: 1, at: 20 }],
    since: 10,
  },
  {
    name: "the same revision again changes nothing",
    steps: [[1, "a"], { settled: 1, at: 10 }, [1, "a"]],
    since: 10,
  },
  { name: "an unknown revision is settled", steps: [[2, "a"], { settled: 1, at: 10 }], since: undefined },
  {
    name: "after a reset, nothing from before counts",
    steps: [[1, "a"], { settled: 1, at: 10 }, "reset", [2, "a"], { settled: 1, at: 20 }],
    since: undefined,
  },
];

for (const { name, steps, since } of CASES) {
  t.test(name, async (t) => {
    const appointments = new Appointments("a");
    for (const step of steps) {
      if (step === "reset") appointments.reset();
      else if ("settled" in step) appointments.settle(step.settled, step.at);
      else appointments.change(step[0], step.slice(1) as string[]);
    }
    t.equal(appointments.since(SUBJECT), since);
  });
}

t.test("the revision is the newest list's", async (t) => {
  const appointments = new Appointments("a");
  t.equal(appointments.revision, 0);
  appointments.change(3, ["a"]);
  appointments.change(7, ["a", "b"]);
  t.equal(appointments.revision, 7);
});

t.test("the only authority lends each subject of an empty list", async (t) => {
  const appointments = new Appointments("");
  appointments.change(0, []);
  appointments.settle(0, 5);
  t.equal(appointments.since(SUBJECT), 5);
});

t.test("after many lists, a subject that was always kept began later, never earlier", async (t) => {
  const appointments = new Appointments("a");
  for (let revision = 1; revision <= 100; revision++) {
    appointments.change(revision, ["a", `other ${revision}`]);
    appointments.settle(revision, revision);
  }
  const kept = subjectWhere((of) =>
    Array.from({ length: 100 }, (_, i) => of("a", `other ${i + 1}`)).every((id) => id === "a"),
  );
  const since = appointments.since(kept);
  t.ok(since !== undefined && since > 1 && since < 100, `since ${since}`);
});
