/**
 * Types of google.protobuf.Any that a service's contract does not have. Those that everyone may send are built in; others are
 * asked for by reflection, where the contract was read by that, while the call that needs them waits. What stays unknown is
 * written, and read, as bytes in base64 (src/json).
 */
import type { DescMessage, Registry } from "@bufbuild/protobuf";
import type { MessageCodec } from "../../src/json/codec.js";
import { BoundedMap } from "../../src/memory/bounded-map.js";
import type { Channel } from "../../src/rpc/channel.js";
import { MissingTypesError } from "../http/errors.js";
import { standardType } from "../http/standard-types.js";

/**
 * Reads types from a server at the end of a channel. Rejects where that cannot be done; types that the server does not know are
 * left out.
 */
export type ReadTypes = (channel: Channel, names: readonly string[]) => Promise<Registry>;

/** Most types that are asked for together, and most times that one message has types asked for: they may nest. */
const MAX_ASKED = 16;
const MAX_ROUNDS = 2;
/** Most names of types that are remembered for a contract, known or not. */
const MAX_NAMES = 1_000;
/** How long a type is used, and how long one is taken for unknown, before it is asked for again; in milliseconds. */
const KNOWN_MS = 600_000;
const UNKNOWN_MS = 60_000;
/** Most conversations that wait for another one to end. */
const MAX_WAITING = 16;
/** How long a call without a deadline waits for types, in milliseconds: longer than all these conversations take. */
const MAX_WAIT_MS = 60_000;

const TYPE_NAME = /^[A-Za-z_][\w]*(?:\.[A-Za-z_][\w]*)*$/;
const MAX_NAME = 255;

interface Remembered {
  readonly type: DescMessage | undefined;
  /** In milliseconds of `performance.now()`. */
  readonly until: number;
}

/** What a gateway has learned of the types that the servers of one contract send. */
export class TypeLearner {
  readonly #read: ReadTypes;
  readonly #remembered = new BoundedMap<string, Remembered>(MAX_NAMES);
  /** The names that the message being read or written needs, while types may be asked for. */
  #missing: Set<string> | undefined;
  #running: Promise<void> | undefined;
  #waiting = 0;

  constructor(read: ReadTypes) {
    this.#read = read;
  }

  /** A type that the contract lacks; undefined where it is not known, or not yet. */
  find(name: string): DescMessage | undefined {
    const known = standardType(name);
    if (known !== undefined) return known;
    const remembered = this.#remembered.get(name);
    if (remembered !== undefined && performance.now() < remembered.until) return remembered.type;
    if (this.#missing !== undefined && this.#missing.size < MAX_ASKED && isTypeName(name)) this.#missing.add(name);
    return remembered?.type;
  }

  /** A codec that has types asked for within `complete` and `attempt`. */
  codec(codec: MessageCodec): MessageCodec {
    return {
      read: (json) => this.#checked(() => codec.read(json)),
      write: (wire) => this.#checked(() => codec.write(wire)),
      writeBody: (wire) => this.#checked(() => codec.writeBody(wire)),
      readQuery: (parameters) => this.#checked(() => codec.readQuery(parameters)),
    };
  }

  /** @throws {MissingTypesError} where types are to be asked for, whether the codec did without them or not */
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
   * Does something with a message, unless types are missing: then they are asked for, and it is to be done again in the next round.
   * @param deadlineMonotonicMs as of `complete`
   * @returns undefined where it is done
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
   * Does something with messages: where types are missing, once more after they were asked for. It must change nothing before
   * its messages have been read or written.
   * @param deadlineMonotonicMs in milliseconds of `performance.now()`; what is not known by then is done without
   */
  async complete<T>(work: () => T, channel: Channel, deadlineMonotonicMs?: number): Promise<Awaited<T>> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const outcome = this.#try(work);
      if (!(outcome instanceof MissingTypesError)) return await outcome;
      await this.#learnBy(deadlineMonotonicMs, outcome.types, channel);
    }
    return await work();
  }

  /** The same, where no types are missing. @returns undefined where some are */
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

  /** Waits for `#learn`, at most until the deadline. The server is asked on: other calls need the types too. */
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

  /** Asks the server for types, one conversation at a time. Never rejects. */
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
      // A type that was known stays so while the server cannot be asked.
      const kept = read === undefined ? this.#remembered.get(name)?.type : undefined;
      this.#remembered.set(name, { type: type ?? kept, until: now + (type === undefined ? UNKNOWN_MS : KNOWN_MS) });
    }
  }
}

function isTypeName(name: string): boolean {
  return name.length <= MAX_NAME && TYPE_NAME.test(name);
}
