/** A guard for tests. A table says which tokens exist, and which endpoints demand a token. */

import type {
  Admission,
  Credentials,
  FollowedStream,
  Guard,
  Guarded,
  StreamListener,
} from "../../src/call/admission.js";
import type { Caller } from "../../src/call/caller.js";
import { Callers } from "../../src/contract/endpoint.js";
import { Code, StatusError } from "../../src/errors.js";
import { until } from "../support/until.js";

export function caller(account: string, extra: Partial<Caller> = {}): Caller {
  return { namespace: "default", account, scopes: [], expires: Number.MAX_SAFE_INTEGER, resources: [], ...extra };
}

export class TableGuard implements Guard {
  /** Callers by token. */
  readonly callers = new Map<string, Caller>();
  /** Canonical names of the endpoints that only callers with a known token may call. */
  readonly closed = new Set<string>();
  /** Whether it decides later, like the real guard for a token that it has not seen before. */
  later = false;
  /** The number of calls of `admit`. */
  asks = 0;
  /** Whether messages of open streams may pass. */
  passing = true;
  /** Counts a call against limits; by default none matches. */
  count: Guard["count"] = () => undefined;
  readonly #followed = new Map<StreamListener, Admission>();

  admit(credentials: Credentials, endpoint: Guarded): Admission | Promise<Admission> {
    this.asks++;
    if (this.later) return new Promise(setImmediate).then(() => this.#decide(credentials, endpoint));
    return this.#decide(credentials, endpoint);
  }

  allows(): boolean {
    return true;
  }

  follow(admission: Admission, listener: StreamListener): FollowedStream {
    this.#followed.set(listener, admission);
    return { mayPass: () => this.passing, end: () => this.#followed.delete(listener) };
  }

  /** Lets messages of open streams pass again. */
  resume(): void {
    this.passing = true;
    for (const listener of this.#followed.keys()) listener.onResumed();
  }

  /** Resolves after this number of calls of `admit`. */
  async asked(times: number): Promise<void> {
    await until(() => this.asks >= times);
  }

  /** The number of open streams that it follows. */
  get following(): number {
    return this.#followed.size;
  }

  /** Closes an endpoint to callers without a token, and re-authorizes the open streams. */
  close(name: string): void {
    this.closed.add(name);
    for (const [listener, { endpoint, caller }] of this.#followed) {
      if (this.#refuses(caller, endpoint)) listener.onRefused(refused(endpoint));
    }
  }

  #decide({ token, namespace }: Credentials, endpoint: Guarded): Admission {
    const caller = token === undefined ? undefined : this.callers.get(token);
    if (this.#refuses(caller, endpoint)) throw refused(endpoint);
    return { endpoint, caller, namespace: namespace ?? caller?.namespace ?? "default" };
  }

  #refuses(caller: Caller | undefined, endpoint: Guarded): boolean {
    if (endpoint.callers === Callers.ENROLLED) return caller?.enrolment === undefined;
    return this.closed.has(endpoint.name) && caller === undefined;
  }
}

function refused(endpoint: Guarded): StatusError {
  return new StatusError(Code.UNAUTHENTICATED, `Unauthorized call made to ${endpoint.name}`);
}
