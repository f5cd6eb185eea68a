/**
 * What guards do: src/access/follow/lease.ts, policy.ts and succession.ts, and
 * src/access/streams/open-streams.ts. Each step names the function that it stands for.
 */
import { fold } from "./authority.js";
import { dropResponse, forgetCaller, lookUpCaller } from "./callers.js";
import type { Steps } from "./setting.js";
import { type Guard, type History, MARGIN, type State, type Stream } from "./state.js";

type Readings = (authority: number) => (readonly [how: string, log: History])[];

/** @param readings the histories that a read of the log by an authority may return */
export function guardSteps(steps: Steps, readings: Readings): void {
  const { state } = steps;
  for (const [index, guard] of state.guards.entries()) {
    const open = state.streams.flatMap((stream, at) => (stream.guard === index && stream.guardEnd ? [at] : []));
    const followed = open.find((at) => streamOf(state, at).followed);
    if (open.every((at) => at === followed)) openStream(steps, index, readings, followed);
    if (guard.lease > 0 && guard.open === undefined) {
      steps.event("call", `guard ${index} admits a call that stays open`, (next) => {
        guardOf(next, index).open = guard.has;
      });
    }
    if (guard.lookup) {
      // OpenStreams.#renew, then Policy.onApplied
      steps.add(`guard ${index} has looked the caller up again and re-authorizes the open stream`, (next) => {
        const own = guardOf(next, index);
        [own.open, own.lookup] = [own.has, false];
        if (followed !== undefined) acknowledge(next, followed);
      });
    }
    lookUpCaller(steps, index, readings, followed === undefined ? undefined : streamOf(state, followed).authority);
    for (const at of open) {
      if (streamOf(state, at).leaving) leave(steps, at);
      else followStream(steps, at);
    }
    for (const at of open) if (at !== followed && !streamOf(state, at).leaving) succeed(steps, at, followed);
  }
}

/**
 * Succession.#openStream: opens a candidate beside the followed stream, or after that has ended.
 */
function openStream(steps: Steps, index: number, readings: Readings, followed: number | undefined): void {
  for (const [number, { up, lease, change }] of steps.state.authorities.entries()) {
    const isFollowed = followed !== undefined && streamOf(steps.state, followed).authority === number;
    if (!up || change?.entry === "" || isFollowed) continue;
    // `listen` of policy.ts and Watcher.start: reads the log, and sends a snapshot.
    for (const [how, log] of readings(number)) {
      const label = `guard ${index} opens a stream to authority ${number}, which reads the log ${how}`;
      steps.event("open", label, (next) => {
        fold(next, number, log);
        openAt(next, index, number, lease);
        if (followed !== undefined && !steps.has("a guard leaves a stream when it follows another"))
          left(next, followed);
      });
    }
  }
}

/**
 * The authority begins a stream with a snapshot.
 * @param followed whether the guard has applied the snapshot already
 */
export function openAt(next: State, guard: number, authority: number, lease: number, followed = false): void {
  const at = next.authorities[authority];
  if (at === undefined) return;
  next.streams.push({
    ...{ guard, authority, guardEnd: true, authorityEnd: true, followed, leaving: false, lease },
    ...{ has: followed ? at.folded : undefined, sent: at.folded, news: followed ? undefined : at.folded },
    ...{ ping: -1, pong: -1 },
    ...{ applied: 0, named: 0, left: 0, response: "", fixed: -1 },
  });
}

function followStream(steps: Steps, at: number): void {
  const { guard, authority, lease, ping, pong, news, has, followed } = streamOf(steps.state, at);
  const who = `guard ${guard}`;
  if (ping < 0) {
    // Pings.#ping. The ping is under way until the authority's next step on this stream.
    steps.event("ping", `${who} sends a ping to authority ${authority}`, (next) => {
      const own = streamOf(next, at);
      own.ping = lease + MARGIN;
      if (own.authorityEnd) own.response = "ping";
    });
  }
  for (const history of messagesOf(steps, at)) {
    const what = `revision ${history.length}${history && ` (${history})`}`;
    // Policy.onApplied, PolicyState.apply
    steps.add(followed ? `${who} applies ${what}` : `${who} receives ${what} on its second stream`, (next) => {
      const own = streamOf(next, at);
      [own.has, own.news] = [history, history === news ? undefined : news];
      if (!followed) return;
      // An authority that has another history now sends a snapshot.
      if (!history.startsWith(has?.replace(PART, "") ?? "")) dropResponse(guardOf(next, guard));
      apply(steps, next, at, history);
    });
  }
  const isDue = pong >= 0 && (pong <= (has?.length ?? -1) || !steps.has("a pong counts once its revision is applied"));
  if (followed && isDue) {
    // Pings.takePongs, Lease.extend
    steps.add(`${who} takes the pong of authority ${authority}, which names revision ${pong}`, (next) => {
      const own = streamOf(next, at);
      const time = steps.has("a lease counts from its ping") ? own.ping : lease + MARGIN;
      if (time > 0) guardOf(next, guard).lease = time;
      [own.ping, own.pong] = [-1, -1];
    });
  }
  steps.event("break", `a connection of ${who} breaks`, (next) => {
    Object.assign(streamOf(next, at), { guardEnd: false, news: undefined, ping: -1, pong: -1 });
    if (followed) dropResponse(guardOf(next, guard));
  });
}

/** Stands for a change that a guard has applied in part: without what takes access away. */
const PART = "~";

/**
 * The histories that the guard may receive next: everything under way, or only the first of two
 * changes that were written together.
 */
function messagesOf(steps: Steps, at: number): History[] {
  const { state, setting } = steps;
  const { news, has } = streamOf(state, at);
  if (news === undefined) return [];
  const first = news.slice(0, -1);
  const messages = [news];
  if (setting.budget.pair !== undefined && has !== undefined && first.length > has.length) messages.push(first);
  if (!steps.has("all parts of a change are in one message") && has !== first + PART) messages.push(first + PART);
  return messages;
}

/** Succession.#followIfReady, Policy.onFollowed */
function succeed(steps: Steps, at: number, followed: number | undefined): void {
  const { guard: index, authority, has, ping, pong } = streamOf(steps.state, at);
  const guard = guardOf(steps.state, index);
  if (has === undefined || guard.lookup) return;
  if (has.length < guard.has.length) return;
  const hasAnswer = pong >= 0 && pong <= has.length;
  const needsAnswer = guard.lease > 0 || followed !== undefined;
  if (!hasAnswer && needsAnswer && steps.has("a guard follows another stream once that has a lease")) return;
  steps.add(`guard ${index} follows its stream to authority ${authority}`, (next) => {
    const own = streamOf(next, at);
    const { lease } = guardOf(next, index);
    own.followed = true;
    if (followed !== undefined) Object.assign(streamOf(next, followed), { followed: false, leaving: true });
    dropResponse(guardOf(next, index));
    apply(steps, next, at, has);
    if (!hasAnswer) return;
    const least = steps.has("a lease of another stream replaces the one before") ? 0 : lease;
    guardOf(next, index).lease = Math.max(ping, least);
    [own.ping, own.pong] = [-1, -1];
  });
}

/** Succession.#leaveWhenSettled: notifies the authority that it need not wait for this guard. */
function leave(steps: Steps, at: number): void {
  const { guard, authority } = streamOf(steps.state, at);
  if (guardOf(steps.state, guard).lookup) return;
  steps.add(`guard ${guard} leaves authority ${authority}`, (next) => left(next, at));
}

function left(next: State, at: number): void {
  Object.assign(streamOf(next, at), { guardEnd: false, authorityEnd: false, followed: false, left: 0, response: "" });
}

function apply(steps: Steps, next: State, at: number, history: History): void {
  const guard = guardOf(next, streamOf(next, at).guard);
  forgetCaller(steps, guard);
  guard.has = history;
  if (guard.open === undefined) acknowledge(next, at);
  else guard.lookup = true;
}

/**
 * The guard reports the revision that it has applied (Leases.applied). The report arrives at once:
 * a later one would only make the authority wait longer.
 */
function acknowledge(next: State, at: number): void {
  const stream = streamOf(next, at);
  const folded = next.authorities[stream.authority]?.folded ?? "";
  const applied = Math.min(guardOf(next, stream.guard).has.length, folded.length);
  if (stream.authorityEnd) stream.applied = Math.max(stream.applied, applied);
}

/**
 * What a guard admits or lets pass although an acknowledged change forbids it, in words; undefined
 * if nothing.
 */
export function wrongful(state: State, has: (safeguard: string) => boolean): string | undefined {
  for (const [index, guard] of state.guards.entries()) {
    const decides = guard.lease > 0 || (guard.lease === 0 && !has("a guard decides nothing outside its lease"));
    const passes = guard.lease > 0 || !has("a stream passes no message without a lease");
    for (const change of state.acknowledged) {
      if (decides && !guard.has.includes(change)) {
        return `guard ${index} decides without change ${change}, which was acknowledged`;
      }
      if (decides && guard.caller?.includes(change) === false) {
        return `guard ${index} admits a caller that was looked up without change ${change}, which was acknowledged`;
      }
      if (guard.open === undefined || guard.open.includes(change) || !passes) continue;
      if (guard.lookup && has("a stream passes no message while its caller is looked up")) continue;
      return `guard ${index} passes a message of a stream that was authorized without change ${change}, which was acknowledged`;
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
