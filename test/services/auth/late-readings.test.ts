// An authority that was slow: what it read about a person counts only while the log has its
// reading, and it does not ask when others are about to. The log is a state in memory.
import t from "tap";
import type { Changes } from "../../../services/auth/log/changelog/changes.js";
import type { Decide, LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { fold } from "../../../services/auth/log/state/fold.js";
import { State } from "../../../services/auth/log/state/state.js";
import { READING_TIME, Readings } from "../../../services/auth/people/readings.js";
import { Code } from "../../../src/errors.js";
import type { PersonLink } from "../../../src/gen/portico/auth/log/v1/log.js";
import { toTimestamp } from "../../../src/time.js";

const ANN = { namespace: "default", issuer: "company", subject: "1" };
const UNSET = { scopes: [], created: undefined, read: undefined, refreshToken: "", revision: 0n, reading: "" };
const CLAIMS = { clientId: "portico", accountClaim: "", trustClaim: false, groupsClaim: "", map: [] };
const SIGN_IN = { ...CLAIMS, createAccounts: false, mayAdminister: false };
const ISSUER = { namespace: "default", name: "company", url: "https://a.example", created: undefined };
const read = (refreshToken: string): LogEvent => ({
  $case: "personRead",
  value: { ...ANN, scopes: [], refreshToken, notAsked: false },
});

interface Log {
  readonly state: State;
  readonly changes: Changes;
  write(...events: LogEvent[]): number;
  link(): PersonLink;
}

/** A log with ann's link, whose refresh token is `R1`. */
function openLog(whileWriting: () => void = () => undefined): Log {
  const state = new State();
  const write = (...events: LogEvent[]): number => {
    const said = { time: toTimestamp(0), actor: "portico", namespace: "default" };
    fold(state, { ...said, events: events.map((event) => ({ event })) });
    return state.revision;
  };
  write(
    { $case: "namespaceCreated", value: { name: "default", id: undefined } },
    { $case: "accountCreated", value: { namespace: "default", name: "ann", scopes: [], password: undefined } },
    { $case: "issuerCreated", value: { issuer: { ...ISSUER, signIn: SIGN_IN, clientSecret: "" } } },
    { $case: "personLinked", value: { link: { ...ANN, account: "ann", ...UNSET } } },
    read("R1"),
  );
  const changes = {
    state,
    sync: async () => undefined,
    settled: async () => undefined,
    issue: async (_: unknown, decide: Decide) => {
      whileWriting();
      return write(...decide(state, 0));
    },
  };
  return { state, write, changes: changes as unknown as Changes, link: () => state.people.link(ANN)! };
}

t.test("what was read does not count once another authority reads", async (t) => {
  // An authority has sockets, so its waits need not keep the process alive.
  const alive = setInterval(() => undefined, 60_000);
  t.teardown(() => clearInterval(alive));
  const { changes, link } = openLog();
  let now = 0;
  const [slow, next] = [new Readings(changes, () => 0), new Readings(changes, () => now)];
  const reading = await slow.begin(link());
  const begun = next.begin(link());
  await new Promise((resolve) => setTimeout(resolve, 0));
  now = READING_TIME;
  const other = await begun;
  t.not(other?.id, reading?.id);
  await t.rejects(
    slow.end(reading!, () => [read("R2")]),
    { code: Code.UNAVAILABLE },
  );
  t.match(link(), { refreshToken: "R1", reading: other?.id });
  await next.end(other!, () => [read("R3")]);
  t.match(link(), { refreshToken: "R3", reading: "" });
});

t.test("a refusal of a refresh token says nothing once a sign-in has brought another", async (t) => {
  const { changes, link, write } = openLog();
  const readings = new Readings(changes, () => 0);
  const reading = await readings.begin(link());
  write(read("R2"));
  await readings.end(reading!, () => [{ $case: "personUnlinked", value: ANN }]);
  t.match(link(), { refreshToken: "R2" });
});

t.test("an authority that waited long for its log does not ask", async (t) => {
  let now = 0;
  const { changes, link } = openLog(() => {
    now += READING_TIME / 2;
  });
  await t.rejects(new Readings(changes, () => now).begin(link()), { code: Code.UNAVAILABLE });
  t.equal(link().reading, "", "others need not wait");
});
