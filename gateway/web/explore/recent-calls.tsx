/** The last calls of this tab, in the session storage. Each can be opened again. */
import { isSameAccount, session } from "../session/session.js";
import { Store, useStore } from "../state/store.js";
import { Badge } from "../ui/badge.js";
import { fragmentOf, isCall, MAX_FRAGMENT, type TryItState } from "./request-memory.js";
import { pageOf } from "./services.js";

export interface RecentCall {
  readonly service: string;
  /** The name of the endpoint, such as `Shop.Call`. */
  readonly endpoint: string;
  /** Without secrets; undefined if it was too long, or if its secrets could not be found. */
  readonly call: TryItState | undefined;
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const MAX_CALLS = 20;
const STORED = "portico.calls";

const calls = new Store(read());

let last = session.value;
// No visitor sees what another account called.
session.follow((next) => {
  if (last !== undefined && !isSameAccount(last, next)) store([]);
  last = next;
});

export function recordCall(call: RecentCall): void {
  store([call, ...calls.value].slice(0, MAX_CALLS));
}

function store(next: readonly RecentCall[]): void {
  calls.set(next);
  try {
    sessionStorage.setItem(STORED, JSON.stringify(next));
  } catch {
    // The storage is full or not allowed. Then a reload forgets the calls.
  }
}

function read(): readonly RecentCall[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isRecent).slice(0, MAX_CALLS) : [];
  } catch {
    return [];
  }
}

function isRecent(value: unknown): value is RecentCall {
  const { service, endpoint, call, status, at }: Partial<Record<keyof RecentCall, unknown>> = Object(value);
  const isNamed = typeof service === "string" && typeof endpoint === "string";
  return isNamed && typeof status === "number" && typeof at === "number" && (call === undefined || isCall(call));
}

export function RecentCalls() {
  const shown = useStore(calls);
  if (shown.length === 0) return null;
  return (
    <details class="recent-calls">
      <summary>Recent calls ({shown.length})</summary>
      <ol aria-label="Recent calls">
        {shown.map((one) => (
          <RecentRow key={`${one.at}`} recent={one} />
        ))}
      </ol>
      <p class="hint">Kept in this tab until it is closed or you sign out. Secrets and tokens are left out.</p>
    </details>
  );
}

function RecentRow({ recent: { service, endpoint, call, status, at } }: { readonly recent: RecentCall }) {
  const fragment = call && fragmentOf(call);
  const isLink = fragment !== undefined && fragment.length <= MAX_FRAGMENT;
  return (
    <li class="recent-call">
      <Badge tone={status > 0 && status < 400 ? "good" : "bad"}>{status === 0 ? "failed" : `${status}`}</Badge>
      {isLink ? (
        <a href={pageOf(service, endpoint) + fragment}>{endpoint}</a>
      ) : (
        <span>{endpoint}, too long to keep</span>
      )}
      <code class="recent-request">{call?.text.replaceAll(/\s+/g, " ").slice(0, 80)}</code>
      <time class="soft" dateTime={new Date(at).toISOString()}>
        {new Date(at).toLocaleTimeString()}
      </time>
    </li>
  );
}
