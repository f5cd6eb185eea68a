/** What guards do: src/access/lease.ts, policy.ts and open-streams.ts. Each step names the function that it stands for. */
import { fold } from "./authority.js";
import type { Steps } from "./setting.js";
import { type Guard, type History, MARGIN, type State, type Stream } from "./state.js";

type Readings = (authority: number) => (readonly [how: string, log: History])[];

/** @param readings what an authority may read of the log */
export function guardSteps(steps: Steps, readings: Readings): void {
  const { state } = steps;
  for (const [index, guard] of state.guards.entries()) {
    const open = state.streams.findIndex((stream) => stream.guard === index && stream.guardEnd);
    if (open < 0) openStream(steps, index, readings);
    if (guard.lease > 0 && guard.open === undefined) {
      steps.event("call", `guard ${index} admits a call that stays open`, (next) => {
        guardOf(next, index).open = guard.has;
      });
    }
    if (guard.lookup) {
      // OpenStreams.#renew, then Policy.#apply
      steps.add(`guard ${index} has looked the caller up again and judges the open stream`, (next) => {
        const own = guardOf(next, index);
        [own.open, own.lookup] = [own.has, false];
        if (open >= 0) acknowledge(next, open);
      });
    }
    if (open >= 0) followStream(steps, open);
  }
}

/** Policy.#watch */
function openStream(steps: Steps, index: number, readings: Readings): void {
  for (const [number, { up, lease, change }] of steps.state.authorities.entries()) {
    if (!up || change?.entry === "") continue;
    // `listen` of policy.ts and Watcher.start: the log is read, and a snapshot goes out.
    for (const [how, log] of readings(number)) {
      steps.event(
        "open",
        `guard ${index} opens a stream to authority ${number}, which reads the log ${how}`,
        (next) => {
          fold(next, number, log);
          openAt(next, index, number, lease);
        },
      );
    }
  }
}

/** The authority begins a stream with a snapshot. */
export function openAt(next: State, guard: number, authority: number, lease: number): void {
  const at = next.authorities[authority];
  if (at === undefined) return;
  next.streams.push({
    ...{ guard, authority, guardEnd: true, authorityEnd: true, lease },
    ...{ sent: at.folded, news: at.folded, ping: -1, pong: -1 },
    ...{ applied: 0, named: 0, left: 0, answer: "", fixed: -1 },
  });
}

function followStream(steps: Steps, at: number): void {
  const { guard, authority, lease, ping, pong, news } = streamOf(steps.state, at);
  const who = `guard ${guard}`;
  if (ping < 0) {
    // Pings.#ping. How long the ping is under way is a matter of when the authority takes its next step.
    steps.event("ping", `${who} sends a ping to authority ${authority}`, (next) => {
      const own = streamOf(next, at);
      own.ping = lease + MARGIN;
      if (own.authorityEnd) own.answer = "ping";
    });
  }
  if (news !== undefined) {
    // Policy.#apply, PolicyState.apply
    steps.add(`${who} applies revision ${news.length}${news && ` (${news})`}`, (next) => apply(steps, next, at, news));
  }
  const { has } = guardOf(steps.state, guard);
  if (pong >= 0 && (pong <= has.length || !steps.has("a pong counts once its revision is applied"))) {
    // Pings.takeAnswers, Lease.extend
    steps.add(`${who} takes the pong of authority ${authority}, which names revision ${pong}`, (next) => {
      const own = streamOf(next, at);
      const time = steps.has("a lease counts from its ping") ? own.ping : lease + MARGIN;
      if (time > 0) guardOf(next, guard).lease = time;
      [own.ping, own.pong] = [-1, -1];
    });
  }
  steps.event("break", `the connection of ${who} breaks`, (next) => {
    Object.assign(streamOf(next, at), { guardEnd: false, news: undefined, ping: -1, pong: -1 });
  });
}

function apply(steps: Steps, next: State, at: number, history: History): void {
  const stream = streamOf(next, at);
  const guard = guardOf(next, stream.guard);
  stream.news = undefined;
  guard.has = history;
  if (guard.open !== undefined) guard.lookup = true;
  if (!guard.lookup || !steps.has("a revision is acknowledged when open streams were judged")) acknowledge(next, at);
}

/** The authority hears that the guard has applied its revision (Leases.applied); if it hears later, it waits longer. */
function acknowledge(next: State, at: number): void {
  const stream = streamOf(next, at);
  const folded = next.authorities[stream.authority]?.folded ?? "";
  const applied = Math.min(guardOf(next, stream.guard).has.length, folded.length);
  if (stream.authorityEnd) stream.applied = Math.max(stream.applied, applied);
}

/** What a guard lets pass that an acknowledged change forbids; undefined where nothing. */
export function wrongful(state: State, has: (safeguard: string) => boolean): string | undefined {
  for (const [index, guard] of state.guards.entries()) {
    const decides = guard.lease > 0 || (guard.lease === 0 && !has("a guard decides nothing outside its lease"));
    const passes = guard.lease > 0 || !has("a stream passes no message without a lease");
    for (const change of state.acknowledged) {
      if (decides && !guard.has.includes(change)) {
        return `guard ${index} decides without change ${change}, which was acknowledged`;
      }
      if (guard.open === undefined || guard.open.includes(change) || !passes) continue;
      if (guard.lookup && has("a stream passes no message while its caller is looked up")) continue;
      return `guard ${index} passes a message of a stream that was judged without change ${change}, which was acknowledged`;
    }
  }
  return undefined;
}

function guardOf(state: State, index: number): Guard {
  return state.guards[index] as Guard;
}

function streamOf(state: State, index: number): Stream {
  return state.streams[index] as Stream;
}
