/**
 * The four steps of a new installation: call it, add a service, refuse callers without a token,
 * give out a key. Which of them are done is read from what the installation has, with the
 * visitor's own rights. A visitor without an account learns only what its calls would show anyway.
 * A stranger to an installation in use sees the catalogue: the first page is for administrators,
 * for everyone where helloworld may be called without a token, and for a browser that has begun.
 */
import { list } from "../console/authority.js";
import { listRegistered } from "../session/api.js";
import { isAdmin, type Session } from "../session/session.js";
import { BUILT_IN } from "./built-in.js";

/** Undefined: only an administrator may know. */
export interface Steps {
  readonly called: boolean;
  readonly added: boolean;
  readonly closed: boolean | undefined;
  readonly keyed: boolean | undefined;
}

/** What this browser remembers of the first page at this address. */
type Memory = "called" | "begun" | "dismissed";

const LIVE = "service:helloworld:Helloworld.Call";
const SELF_GOVERNED = /^service:(?:auth|registry):/;
/** The longest time for which calls are counted. */
const COUNTED_SPAN = "2592000s";

export interface Installation {
  readonly steps: Steps;
  /** How the visitor may call helloworld; undefined if not at all. */
  readonly live: "open" | "withToken" | undefined;
  /** Whether `/` shows the first page to this visitor. */
  readonly isNew: boolean;
}

/** @throws {ApiError} */
export async function readInstallation(session: Session | undefined, signal: AbortSignal): Promise<Installation> {
  const [everyone, own] = await Promise.all([
    listRegistered({ signal, asNobody: true }),
    session && listRegistered({ signal }),
  ]);
  const resourcesOf = (services: typeof everyone) => services.flatMap((one) => one.endpoints.map((e) => e.resource));
  const [open, mine] = [resourcesOf(everyone), resourcesOf(own ?? everyone)];
  const live = open.includes(LIVE) ? "open" : mine.includes(LIVE) ? "withToken" : undefined;
  const seen = {
    called: recalls("called"),
    added: (own ?? everyone).some(({ name }) => !BUILT_IN.has(name)),
    // Where nothing at all may be called without a token, everyone can see that it is closed.
    closed: open.every((resource) => SELF_GOVERNED.test(resource)) || undefined,
    keyed: undefined,
  };
  const isAdministrator = session !== undefined && isAdmin(session);
  const steps = isAdministrator ? await readAsAdmin(seen, signal) : seen;
  const isBegun = isAdministrator || live === "open" || recalls("called") || recalls("begun");
  return { steps, live, isNew: isBegun && !isDone(steps) && !recalls("dismissed") };
}

async function readAsAdmin(seen: Steps, signal: AbortSignal): Promise<Steps> {
  const [usage, rules, keys] = await Promise.all([
    seen.called ? undefined : list.usage({ span: COUNTED_SPAN, service: "" }, signal),
    list.rules(signal),
    list.keys(signal),
  ]);
  const isOpening = (rule: (typeof rules)[number]) =>
    rule.scope === "<public>" && rule.access === "GRANTED" && rule.resource === "*:*:*" && !rule.disabled;
  return {
    ...seen,
    called: seen.called || (usage?.endpoints ?? []).some(({ calls }) => Number(calls.ok) > 0),
    closed: !rules.some(isOpening),
    keyed: keys.length > 0,
  };
}

export function isDone({ called, added, closed, keyed }: Steps): boolean {
  return called && added && closed === true && keyed === true;
}

const KEY = "portico-first";

function remembered(): readonly string[] {
  try {
    return (localStorage.getItem(KEY) ?? "").split(" ");
  } catch {
    // Storage may be switched off. Then the page begins anew at each visit.
    return [];
  }
}

export function recalls(what: Memory): boolean {
  return remembered().includes(what);
}

export function remember(what: Memory): void {
  if (recalls(what)) return;
  try {
    localStorage.setItem(KEY, [...remembered(), what].join(" ").trim());
  } catch {
    // As above.
  }
}
