// Callers of one path, in their own process: the load of overload.ts. The argument is a `Load` as
// JSON. Writes one line of JSON, an `Outcome`. Does not count the calls of the first second.
//
//     node --import=tsx test/faults/overload-client.ts \
//         '{"port":8080,"path":"/readyz","seconds":5,"callers":100,"rate":50,"kept":true}'
import { Http1Line, Http2Line, type Line, type Target } from "./lines.js";

export interface Load extends Target {
  readonly seconds: number;
  /**
   * The maximum number of calls at once. A call above it is lost, because there is no connection
   * for it.
   */
  readonly callers: number;
  /**
   * Calls that begin in a second, whatever the result of others. Without it, each caller calls
   * again at once after a response.
   */
  readonly rate?: number | undefined;
  /**
   * Whether callers connect before the load begins, and keep their connections. Otherwise each call
   * opens a connection.
   */
  readonly kept: boolean;
}

export interface Outcome {
  /**
   * Calls per second, by their result within the time: a response with 200, one with 503, or none.
   */
  readonly granted: number;
  readonly refused: number;
  readonly lost: number;
  /** The latency of calls that were granted, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * How long a caller waits for a response, in milliseconds. Then it gives up; over HTTP/1.1 it
 * closes its connection.
 */
const PATIENCE = 1_000;
/** The time at the beginning that is not counted, in milliseconds. */
const WARM_UP = 1_000;
/** How many connections are opened at once before the load begins. */
const CONNECTING = 8;

const load: Load = JSON.parse(process.argv[2] as string);

let begin = 0;
let end = Number.POSITIVE_INFINITY;
const times: number[] = [];
let refused = 0;
let lost = 0;

const isCounted = (started: number): boolean => started >= begin + WARM_UP && started < end - PATIENCE;

class Caller {
  readonly line: Line = load.version === "HTTP/2" ? new Http2Line(load) : new Http1Line(load, load.kept);
  started = 0;
  isWaiting = false;

  call(): void {
    this.started = performance.now();
    this.isWaiting = true;
    waiting.push({ caller: this, since: this.started });
    this.line.send((status) => this.#end(status));
  }

  giveUp(): void {
    this.line.giveUp();
    this.#end(0);
  }

  #end(status: number): void {
    this.isWaiting = false;
    const took = performance.now() - this.started;
    if (!load.kept) this.line.close();
    if (isCounted(this.started)) {
      if (took > PATIENCE || (status !== 200 && status !== 503)) lost++;
      else if (status === 503) refused++;
      else times.push(took);
    }
    if (load.rate !== undefined) idle.push(this);
    // Without a response, the next call must not begin in the same turn of the event loop: that
    // loop would never end.
    else if (status === 0) setTimeout(() => this.call(), 1);
    else this.call();
  }
}

/** Calls in the order of their starts. A call that has ended is skipped when its time is up. */
const waiting: { readonly caller: Caller; readonly since: number }[] = [];
let checked = 0;
const idle: Caller[] = [];
let callers = 0;
let begun = 0;

function tick(): void {
  const now = performance.now();
  if (load.rate !== undefined) beginDue(Math.floor(((Math.min(now, end) - begin) * load.rate) / 1000), now);
  for (; checked < waiting.length; checked++) {
    const { caller, since } = waiting[checked] as (typeof waiting)[number];
    if (now - since < PATIENCE) break;
    if (caller.isWaiting && caller.started === since) caller.giveUp();
  }
  if (checked > 10_000) {
    waiting.splice(0, checked);
    checked = 0;
  }
  if (now < end) setTimeout(tick, 1);
  else report();
}

function beginDue(due: number, now: number): void {
  for (; begun < due; begun++) {
    const caller = idle.pop() ?? newCaller();
    if (caller !== undefined) caller.call();
    else if (isCounted(now)) lost++;
  }
}

function newCaller(): Caller | undefined {
  if (callers === load.callers) return undefined;
  callers++;
  return new Caller();
}

async function connectNext(): Promise<void> {
  for (let caller = newCaller(); caller !== undefined; caller = newCaller()) {
    await new Promise<void>((resolve) => caller?.line.connect(resolve));
    idle.push(caller);
  }
}

function report(): void {
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0;
  const perSecond = (count: number): number => count / (load.seconds - (WARM_UP + PATIENCE) / 1000);
  const counts = { granted: perSecond(times.length), refused: perSecond(refused), lost: perSecond(lost) };
  const outcome: Outcome = { ...counts, p50: at(0.5), p99: at(0.99) };
  process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit());
}

if (load.kept) await Promise.all(Array.from({ length: CONNECTING }, connectNext));
begin = performance.now();
end = begin + load.seconds * 1000;
if (load.rate === undefined) {
  const all = load.kept ? idle.splice(0) : Array.from({ length: load.callers }, () => new Caller());
  for (const caller of all) caller.call();
}
tick();
