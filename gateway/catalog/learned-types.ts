/**
 * Types of google.protobuf.Any that a service's contract lacks. The standard types, which any
 * service may send, are built in. If the contract was read by reflection, the gateway also asks for
 * other types by reflection, while the call that needs them waits. A value of an unknown type is
 * written and read as bytes in base64 (src/json).
 */
import type { DescMessage, Registry } from "@bufbuild/protobuf";
import type { MessageCodec } from "../../src/json/codec.js";
import { BoundedMap } from "../../src/memory/bounded-map.js";
import type { Channel } from "../../src/rpc/channel.js";
import { MissingTypesError } from "../http/errors.js";
import { standardType } from "../http/standard-types.js";

/**
 * Reads types from the server at the end of a channel. Rejects if that is not possible. Types that
 * the server does not know are missing in the result.
 */
export type ReadTypes = (channel: Channel, names: readonly string[]) => Promise<Registry>;

/**
 * Maximum types in one request to the server, and maximum requests for one message. Types may be
 * nested, so one request may not be enough.
 */
const MAX_ASKED = 16;
const MAX_ROUNDS = 2;
/** Maximum type names that are remembered for a contract, known and unknown. */
const MAX_NAMES = 1_000;
/**
 * How long a known type and an unknown type are remembered before the gateway asks again, in
 * milliseconds.
 */
const KNOWN_MS = 600_000;
const UNKNOWN_MS = 60_000;
/** Maximum requests for types that wait until an earlier request has ended. */
const MAX_WAITING = 16;
/**
 * How long a call without a deadline waits for types, in milliseconds. All requests for one message
 * together take less time.
 */
const MAX_WAIT_MS = 60_000;

const TYPE_NAME = /^[A-Za-z_][\w]*(?:\.[A-Za-z_][\w]*)*$/;
const MAX_NAME = 255;

interface Remembered {
  readonly type: DescMessage | undefined;
  /** In milliseconds of `performance.now()`. */
  readonly until: number;
}

/** The types that the gateway has learned from the servers of one contract. */
export class TypeLearner {
  readonly #read: ReadTypes;
  readonly #remembered = new BoundedMap<string, Remembered>(MAX_NAMES);
  /**
   * The names of unknown types in the message that is being read or written; undefined while types
   * must not be asked for.
   */
  #missing: Set<string> | undefined;
  #running: Promise<void> | undefined;
  #waiting = 0;

  constructor(read: ReadTypes) {
    this.#read = read;
  }

  /** A type that the contract lacks; undefined if it is unknown, or not known yet. */
  find(name: string): DescMessage | undefined {
    const known = standardType(name);
    if (known !== undefined) return known;
    const remembered = this.#remembered.get(name);
    if (remembered !== undefined && performance.now() < remembered.until) return remembered.type;
    if (this.#missing !== undefined && this.#missing.size < MAX_ASKED && isTypeName(name)) this.#missing.add(name);
    return remembered?.type;
  }

  /** A codec that reports missing types to `complete` and `attempt`. */
  codec(codec: MessageCodec): MessageCodec {
    return {
      read: (json) => this.#checked(() => codec.read(json)),
      write: (wire) => this.#checked(() => codec.write(wire)),
      writeBody: (wire) => this.#checked(() => codec.writeBody(wire)),
      readQuery: (parameters) => this.#checked(() => codec.readQuery(parameters)),
    };
  }

  /**
   * @throws {MissingTypesError} if types must be asked for, even if the codec succeeded without
   * them
   */
  #checked<T>(convert: () => T): T {
    const missing = this.#missing;
    if (missing === undefined) return convert();
    try {
      const converted = convert();
      if (missing.size === 0) return converted;
    } catch (error) {
      if (missing.size === 0) throw error;
    }
    const types = [...missing];
    missing.clear();
    throw new MissingTypesError(types);
  }

  /**
   * Runs `work` with a message. If types are missing, it asks for them instead, and the caller must
   * call it again with the next round.
   * @param deadlineMonotonicMs see `complete`
   * @returns undefined if `work` is done
   */
  attempt(work: () => void, round: number, channel: Channel, deadlineMonotonicMs?: number): Promise<void> | undefined {
    if (round === MAX_ROUNDS) {
      work();
      return undefined;
    }
    const outcome = this.#try(work);
    return outcome instanceof MissingTypesError
      ? this.#learnBy(deadlineMonotonicMs, outcome.types, channel)
      : undefined;
  }

  /**
   * Runs `work` with messages. If types are missing, it asks for them and runs `work` again. So
   * `work` must change nothing before its messages have been read or written.
   * @param deadlineMonotonicMs in milliseconds of `performance.now()`; after it, `work` runs
   * without the types that are still unknown
   */
  async complete<T>(work: () => T, channel: Channel, deadlineMonotonicMs?: number): Promise<Awaited<T>> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const outcome = this.#try(work);
      if (!(outcome instanceof MissingTypesError)) return await outcome;
      await this.#learnBy(deadlineMonotonicMs, outcome.types, channel);
    }
    return await work();
  }

  /** Like `complete`, but synchronous. @returns undefined if types are missing */
  completeAtOnce<T>(work: () => T): T | undefined {
    const outcome = this.#try(work);
    return outcome instanceof MissingTypesError ? undefined : outcome;
  }

  #try<T>(work: () => T): T | MissingTypesError {
    const outer = this.#missing;
    this.#missing = new Set();
    try {
      return work();
    } catch (error) {
      if (error instanceof MissingTypesError) return error;
      throw error;
    } finally {
      this.#missing = outer;
    }
  }

  /**
   * Waits for `#learn`, at most until the deadline. The request to the server continues after it,
   * because other calls need the types too.
   */
  async #learnBy(deadlineMonotonicMs: number | undefined, names: readonly string[], channel: Channel): Promise<void> {
    const left =
      deadlineMonotonicMs === undefined ? MAX_WAIT_MS : Math.min(deadlineMonotonicMs - performance.now(), MAX_WAIT_MS);
    if (left <= 0) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, left);
    });
    await Promise.race([this.#learn(names, channel), late]);
    clearTimeout(timer);
  }

  /** Asks the server for types, one request at a time. Never rejects. */
  async #learn(names: readonly string[], channel: Channel): Promise<void> {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting++;
    while (this.#running !== undefined) await this.#running;
    this.#waiting--;
    const now = performance.now();
    const asked = names.filter((name) => now >= (this.#remembered.get(name)?.until ?? 0));
    if (asked.length === 0) return;
    this.#running = this.#ask(asked, channel);
    await this.#running;
    this.#running = undefined;
  }

  async #ask(names: readonly string[], channel: Channel): Promise<void> {
    const read = await this.#read(channel, names).catch(() => undefined);
    const now = performance.now();
    for (const name of names) {
      const type = read?.getMessage(name);
      // A known type stays known while the server cannot be asked.
      const knownBefore = read === undefined ? this.#remembered.get(name)?.type : undefined;
      this.#remembered.set(name, {
        type: type ?? knownBefore,
        until: now + (type === undefined ? UNKNOWN_MS : KNOWN_MS),
      });
    }
  }
}

function isTypeName(name: string): boolean {
  return name.length <= MAX_NAME && TYPE_NAME.test(name);
}
