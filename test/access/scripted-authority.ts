/**
 * A scripted authority for Policy: it can respond late, wrongly or not at all, which the real one
 * cannot be made to do. It is a real service behind a real dispatcher, reached in process.
 */

import type { Test } from "tap";
import type { Resolved } from "../../src/access/callers/lookups.js";
import type { Rule } from "../../src/access/decide/rules.js";
import type { AuthorityAccess } from "../../src/access/follow/authority-access.js";
import { type Guard, OpenGuard, SYSTEM } from "../../src/access/guard.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { Code, StatusError } from "../../src/errors.js";
import {
  type Caller,
  type Change,
  PolicyService,
  type WatchRequest,
  type WatchResponse,
} from "../../src/gen/portico/auth/v1/policy.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { part, type Service } from "../../src/rpc/service.js";
import { dispatcherOf } from "../rpc/serve.js";
import { silent } from "../services/auth/open.js";
import { readRule } from "./read-rule.js";

/** A lookup of a token by a guard. */
interface Question {
  readonly sha256: Buffer;
}

type Message = NonNullable<WatchResponse["message"]>;
type Ping = {
  readonly sequence: bigint;
  readonly usedKeys: Buffer[] /** performance.now() */;
  readonly received: number;
};

/** A guard's stream, as the authority sees it. */
export class Watched {
  started = false;
  readonly pings: Ping[] = [];
  readonly applied: bigint[] = [];
  /** Whether the guard has ended its side … */
  left = false;
  /** … or cancelled the stream. */
  cancelled = false;
  readonly #script: ScriptedAuthority;
  #unsent: Message[] = [];
  #wake = (): void => {};
  #ended = false;

  constructor(script: ScriptedAuthority) {
    this.#script = script;
  }

  send(message: Message): void {
    this.#unsent.push(message);
    this.#wake();
  }

  /** Responds to a ping; default: the newest ping, with the newest revision. */
  pong(ping = this.pings.at(-1), revision = this.#script.revision): void {
    if (ping === undefined) throw new Error("there was no ping yet");
    const now = Date.now() + this.#script.clockAhead;
    const time = { seconds: BigInt(Math.floor(now / 1000)), nanos: (now % 1000) * 1e6 };
    const leaseMs = BigInt(this.#script.leaseMs);
    this.send({ $case: "pong", value: { sequence: ping.sequence, revision, leaseMs, time, stopping: false } });
  }

  break(): void {
    this.#ended = true;
    this.#wake();
  }

  async listen(requests: AsyncIterable<WatchRequest>): Promise<void> {
    try {
      for await (const { message } of requests) this.#take(message);
      this.left = true;
    } catch {
      this.cancelled = true;
    }
    this.break();
    this.#script.notify();
  }

  #take(message: WatchRequest["message"]): void {
    if (message?.$case === "start") this.started = true;
    if (message?.$case === "applied") this.applied.push(message.value.revision);
    if (message?.$case === "ping") {
      this.pings.push({ ...message.value, received: performance.now() });
      if (this.#script.answersPings) this.pong();
    }
    this.#script.notify();
  }

  async *messages(): AsyncGenerator<WatchResponse> {
    while (!this.#ended) {
      for (const message of this.#unsent.splice(0)) yield { message };
      if (this.#unsent.length > 0 || this.#ended) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    throw new StatusError(Code.UNAVAILABLE, "the script breaks the stream");
  }
}

export class ScriptedAuthority {
  revision = 1n;
  leaseMs = 300;
  /** Its clock minus the clock of this computer, in milliseconds. */
  clockAhead = 0;
  answersPings = true;
  /** Whether it accepts streams. */
  reachable = true;
  /** When it refused streams, in milliseconds of `performance.now()`. */
  readonly refusedAt: number[] = [];
  /** The rules of the namespace `default`, in the form of the table of rules. */
  rules = ["<public> granted *:*:*"];
  /** The callers by token: by its SHA-256 in hexadecimal. */
  readonly callers = new Map<string, Partial<Caller>>();
  /** Each lookup of a caller, by the SHA-256 of the token. */
  readonly asked: string[] = [];
  /** Responds to the lookup of a caller. */
  resolve: (question: Question) => Resolved | Promise<Resolved> = (question) => this.response(question);
  /** The number of tokens in each batch of lookups. */
  readonly batches: number[] = [];
  /** Maximum number of results in a response. */
  maxResults = Number.POSITIVE_INFINITY;
  readonly streams: Watched[] = [];
  readonly #waiting = new Set<() => void>();

  /** The argument for `OpenGuard`. */
  readonly access: AuthorityAccess;

  constructor() {
    const service: Service = {
      name: "auth",
      descriptors: descriptorsOf(),
      parts: [
        part(PolicyService, {
          watch: (requests) => this.#watch(requests),
          listNamespaceIds: () => ({ namespaces: [], installationId: "" }),
          acceptJwt: () => ({ accepted: false }),
          batchResolve: async ({ sha256 }) => {
            this.batches.push(sha256.length);
            const responses = await Promise.all(sha256.map(async (hash) => this.#resolve({ sha256: hash })));
            const revision = responses.reduce(
              (least, response) => (response.revision < least ? response.revision : least),
              this.revision,
            );
            return { revision, results: responses.slice(0, this.maxResults).map(({ caller }) => ({ caller })) };
          },
        }),
      ],
    };
    const channel = new InProcessChannel(dispatcherOf([service], { guard: NOT_ASKED }));
    this.access = { channel, admission: SYSTEM, log: silent };
  }

  #resolve(question: Question): Resolved | Promise<Resolved> {
    this.asked.push(question.sha256.toString("hex"));
    this.notify();
    return this.resolve(question);
  }

  /** The stream that was opened last. */
  get stream(): Watched {
    const last = this.streams.at(-1);
    if (last === undefined) throw new Error("no stream was opened yet");
    return last;
  }

  response({ sha256 }: Question): Resolved {
    const caller = this.callers.get(sha256.toString("hex"));
    return { revision: this.revision, caller: caller && { ...NO_CALLER, ...caller } };
  }

  snapshot(): Message {
    const rules: Rule[] = this.rules.map((rule, index) => readRule(rule, `r${index + 1}`));
    return {
      $case: "snapshot",
      value: {
        revision: this.revision,
        namespaces: [{ namespace: "default", namespaceId: "", rules, limits: [] }],
        last: true,
        contextKeys: [],
        lenders: undefined,
      },
    };
  }

  /** Sends changes as the next revision. */
  change(...changes: NonNullable<Change["change"]>[]): void {
    this.revision++;
    const value = { revision: this.revision, changes: changes.map((change) => ({ change })) };
    this.stream.send({ $case: "changes", value });
  }

  /** Resolves when a condition holds that a guard brings about. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  notify(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async *#watch(requests: AsyncIterable<WatchRequest>): AsyncGenerator<WatchResponse> {
    if (!this.reachable) {
      this.refusedAt.push(performance.now());
      throw new StatusError(Code.UNAVAILABLE, "the script takes no streams");
    }
    const watched = new Watched(this);
    this.streams.push(watched);
    void watched.listen(requests);
    await this.until(() => watched.started);
    watched.send(this.snapshot());
    yield* watched.messages();
  }
}

const NO_CALLER: Caller = {
  namespace: "default",
  namespaceId: "",
  account: "bob",
  scopes: [],
  expires: { seconds: 253_402_300_799n, nanos: 0 },
  resources: [],
  from: [],
  reportUse: false,
  enrolment: "",
};

/** The guard of the scripted authority's own port, which is reached only from this process. */
const NOT_ASKED: Guard = {
  admit: () => {
    throw new Error("nobody but SYSTEM calls a scripted authority");
  },
  allows: () => false,
  count: () => undefined,
  follow: () => ({ mayPass: () => true, end: () => {} }),
};

export interface Started {
  readonly script: ScriptedAuthority;
  readonly guard: OpenGuard;
}

/** Starts a guard that has opened its stream. */
export async function start(t: Test, options: Partial<ScriptedAuthority> = {}): Promise<Started> {
  const script = Object.assign(new ScriptedAuthority(), options);
  const guard = new OpenGuard(script.access);
  t.teardown(() => guard.close());
  await script.until(() => script.streams.length > 0);
  return { script, guard };
}
