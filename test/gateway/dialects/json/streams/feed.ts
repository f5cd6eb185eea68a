/** The service of feed.proto. A test can observe its calls. */
import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { readDescriptors } from "../../../../../src/contract/endpoint.js";
import { Code, StatusError } from "../../../../../src/errors.js";
import type { MethodDefinition } from "../../../../../src/rpc/definition.js";
import { type Context, part, type Service } from "../../../../../src/rpc/service.js";
import { buildDescriptors } from "../../../../support/descriptors.js";

const descriptors = buildDescriptors(
  "test/gateway/dialects/json/streams",
  "test/gateway/dialects/json/streams/feed.proto",
);
const types = readDescriptors(descriptors);

interface CountRequest {
  readonly messages: bigint;
  readonly padding: number;
  readonly hang: boolean;
  readonly code: number;
}
interface Tick {
  readonly number: bigint;
  readonly padding?: string;
}
interface Sum {
  readonly count: bigint;
  readonly total: bigint;
}
interface Page {
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly code?: number;
}

interface Stored {
  readonly contentTypes: string[];
  readonly bytes: bigint;
  readonly sha256: string;
}

interface Codec<T> {
  readonly read: (bytes: Buffer) => T;
  readonly write: (message: T) => Buffer;
}

function codec<T>(name: string): Codec<T> {
  const schema = types.getMessage(name);
  if (schema === undefined) throw new Error(`no ${name}`);
  return {
    read: (bytes: Buffer) => fromBinary(schema, bytes) as unknown as T,
    write: (message: T) => Buffer.from(toBinary(schema, create(schema, message as Record<string, unknown>))),
  };
}

const countRequest = codec<CountRequest>("feed.CountRequest");
const tick = codec<Tick>("feed.Tick");
const sum = codec<Sum>("feed.Sum");
const page = codec<Page>("feed.PageRequest");
const stored = codec<Stored>("feed.Stored");
const form = codec<object>("feed.FormRequest");
const httpBody = codec<Page>("google.api.HttpBody");
const bytes: Codec<Buffer> = { read: (it) => it, write: (it) => it };

const STREAMS = {
  unary: { requestStream: false, responseStream: false },
  down: { requestStream: false, responseStream: true },
  up: { requestStream: true, responseStream: false },
  both: { requestStream: true, responseStream: true },
} as const;

function method<A, B, S extends keyof typeof STREAMS>(
  name: string,
  input: Codec<A>,
  output: Codec<B>,
  shape: S,
): MethodDefinition<A, B> & (typeof STREAMS)[S] {
  return {
    path: `/feed.Feed/${name}`,
    ...STREAMS[shape],
    requestSerialize: input.write,
    requestDeserialize: input.read,
    responseSerialize: output.write,
    responseDeserialize: output.read,
  } as MethodDefinition<A, B> & (typeof STREAMS)[S];
}

export class Feed extends EventEmitter<{ opened: []; go: []; stored: []; over: [Error | undefined] }> {
  /** Ticks sent by Count. */
  produced = 0;
  /** Ticks read by the other endpoints. */
  read = 0;
  /** Bytes read by Store. */
  stored = 0;
  /** Calls that have not ended. */
  open = 0;
  readonly service: Service = {
    name: "feed",
    descriptors,
    parts: [
      part(
        {
          count: method("Count", countRequest, tick, "down"),
          chat: method("Chat", tick, tick, "both"),
          collect: method("Collect", tick, sum, "up"),
          stall: method("Stall", tick, sum, "up"),
          page: method("Page", page, httpBody, "unary"),
          chunks: method("Pieces", page, httpBody, "down"),
          upload: method("Upload", httpBody, page, "unary"),
          store: method("Store", httpBody, stored, "up"),
          form: method("Form", form, form, "unary"),
          broken: method("Broken", countRequest, bytes, "down"),
        },
        {
          count: (request, context) => this.#count(request, context),
          chat: (ticks, context) => this.#chat(ticks, context),
          collect: (ticks, context) => this.#collect(ticks, context),
          stall: (ticks, context) => this.#stall(ticks, context),
          page: (request) => request,
          chunks: (request) => chunks(request),
          upload: (request) => request,
          store: (chunks, context) => this.#store(chunks, context),
          form: (request) => request,
          broken: () => broken(),
        },
      ),
    ],
  };

  /** Resolves when no call is open. */
  async idle(): Promise<void> {
    while (this.open > 0) await once(this, "over");
  }

  /** Records when the call ends, in whatever way it does. */
  #begin({ signal }: Context): () => void {
    this.open++;
    this.emit("opened");
    let over = false;
    const end = (): void => {
      if (over) return;
      over = true;
      this.open--;
      this.emit("over", signal.reason as Error | undefined);
    };
    signal.addEventListener("abort", end);
    return end;
  }

  async *#count({ messages, padding, hang, code }: CountRequest, context: Context): AsyncGenerator<Tick> {
    const end = this.#begin(context);
    try {
      const text = "x".repeat(padding);
      const most = messages === 0n && (hang || code > 0) ? -1n : messages;
      for (let number = 1n; most === 0n || number <= most; number++) {
        this.produced++;
        yield { number, padding: text };
      }
      if (hang) await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      if (code > 0) throw new StatusError(code as Code, "as told");
    } finally {
      end();
    }
  }

  async *#chat(ticks: AsyncIterable<Tick>, context: Context): AsyncGenerator<Tick> {
    const end = this.#begin(context);
    try {
      for await (const one of ticks) {
        this.read++;
        yield one;
      }
    } finally {
      end();
    }
  }

  async #collect(ticks: AsyncIterable<Tick>, context: Context): Promise<Sum> {
    const end = this.#begin(context);
    try {
      let [count, total] = [0n, 0n];
      for await (const { number } of ticks) {
        this.read++;
        count++;
        total += number;
      }
      return { count, total };
    } finally {
      end();
    }
  }

  async #store(chunks: AsyncIterable<Page>, context: Context): Promise<Stored> {
    const end = this.#begin(context);
    try {
      const contentTypes: string[] = [];
      const hash = createHash("sha256");
      this.stored = 0;
      for await (const { contentType, data } of chunks) {
        contentTypes.push(contentType);
        hash.update(data);
        this.stored += data.length;
        this.emit("stored");
        if (contentType === "test/refused") throw new StatusError(Code.FAILED_PRECONDITION, "not wanted");
        if (contentType === "test/hang") {
          await Promise.race([once(this, "go"), once(context.signal, "abort")]);
        }
      }
      return { contentTypes, bytes: BigInt(this.stored), sha256: hash.digest("hex") };
    } finally {
      end();
    }
  }

  async #stall(ticks: AsyncIterable<Tick>, context: Context): Promise<Sum> {
    const end = this.#begin(context);
    await ticks[Symbol.asyncIterator]().next();
    this.read++;
    await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
    end();
    return { count: 1n, total: 0n };
  }
}

async function* chunks({ contentType, data, code = 0 }: Page): AsyncGenerator<Page> {
  for (const byte of data) yield { contentType, data: Buffer.from([byte]) };
  if (code > 0) throw new StatusError(code as Code, "as told");
}

async function* broken(): AsyncGenerator<Buffer> {
  yield tick.write({ number: 1n });
  yield Buffer.from([0xff]);
}
