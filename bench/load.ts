/**
 * The load generator: a process of its own that keeps connections busy over HTTP/1.1 on plain
 * sockets, with one call at a time on each. It reads only as much of a response as is needed to
 * check that it is complete and has the expected status. calls.ts starts it, sends a `Window`, and
 * gets a `Measurement`.
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { processorTime } from "./processes.js";

/** A time of load on one system. */
export interface Window {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** File of tokens, one in each line. The calls use them in turn. */
  readonly tokens?: string;
  readonly body: string;
  /** Expected status of the responses. */
  readonly status: number;
  readonly connections: number;
  /** Time before counting begins, in milliseconds. */
  readonly warmUp: number;
  /** Milliseconds. Longer if fewer than `responses` have arrived. */
  readonly duration: number;
  /** Minimum number of responses to wait for. */
  readonly responses?: number;
  /** IDs of processes whose processor time is measured. */
  readonly processes: readonly number[];
}

export interface Measurement {
  /** Responses per second. */
  readonly rate: number;
  /** Seconds that were measured. */
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time for a call: of each process, and of this one. */
  readonly processor: readonly number[];
  readonly generator: number;
}

/** Maximum number of latencies that are stored for a window. */
const MAX_SAMPLES = 1_000_000;

/** If a connection gets no response for this time, the window fails. Milliseconds. */
const PATIENCE = 10_000;

/** Maximum number of connections that are opened in parallel: node listens with a queue of 511. */
const MAX_CONNECTING = 128;

const END_OF_HEAD = Buffer.from("\r\n\r\n");
const LAST_CHUNK = "\r\n0\r\n\r\n";

class Load {
  readonly #window: Window;
  readonly #requests: () => Buffer;
  readonly #connections: Connection[] = [];
  readonly #samples = new Float64Array(MAX_SAMPLES);
  #responses = 0;
  stopped = false;

  constructor(window: Window) {
    this.#window = window;
    const { path, headers, body, tokens } = window;
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${lines.join("")}`;
    const end = `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const request = Buffer.from(head + end);
    this.#requests = tokens === undefined ? () => request : requestsOf(head, end, tokens);
  }

  async run(): Promise<Measurement> {
    const { warmUp, duration, processes } = this.#window;
    let fail!: (error: Error) => void;
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    try {
      await Promise.race([this.#connect(fail), failed]);
      await Promise.race([pause(warmUp), failed]);
      const before = [...processes.map(processorTime), ownTime()];
      this.#responses = 0;
      const start = performance.now();
      await Promise.race([pause(duration), failed]);
      while (this.#responses < (this.#window.responses ?? 0)) await Promise.race([pause(1), failed]);
      const seconds = (performance.now() - start) / 1000;
      const responses = this.#responses;
      const after = [...processes.map(processorTime), ownTime()];
      const processor = after.map((time, index) => (time - before[index]!) / responses);
      const generator = processor.pop()!;
      if (responses === 0) throw new Error(`no answer within ${duration} ms`);
      return { rate: responses / seconds, seconds, ...this.#percentiles(responses), processor, generator };
    } finally {
      this.stopped = true;
      for (const connection of this.#connections) connection.close();
    }
  }

  /**
   * Opens all connections before one of them is used: a busy server may accept only one in each
   * turn of its event loop.
   */
  async #connect(fail: (error: Error) => void): Promise<void> {
    const { port, connections } = this.#window;
    while (this.#connections.length < connections) {
      const next = Math.min(MAX_CONNECTING, connections - this.#connections.length);
      const opened = Array.from({ length: next }, () => new Connection(port, this.#requests, this, fail));
      this.#connections.push(...opened);
      await Promise.all(opened.map(({ connected }) => connected));
      if (connections > MAX_CONNECTING) await pause(10);
    }
    for (const connection of this.#connections) connection.send();
  }

  /** Expected status of the responses. */
  get status(): number {
    return this.#window.status;
  }

  /** Counts a response. `latency` is in milliseconds. */
  answered(latency: number): void {
    if (this.#responses < MAX_SAMPLES) this.#samples[this.#responses] = latency;
    this.#responses++;
  }

  #percentiles(responses: number): { p50: number; p99: number } {
    const sorted = this.#samples.subarray(0, Math.min(responses, MAX_SAMPLES)).sort();
    const at = (share: number) => sorted[Math.floor(sorted.length * share)]!;
    return { p50: at(0.5), p99: at(0.99) };
  }
}

/** The requests, each with the next token of the file. */
function requestsOf(head: string, end: string, file: string): () => Buffer {
  const tokens = readFileSync(file, "latin1").trim().split("\n");
  let next = 0;
  return () => {
    next = next === tokens.length - 1 ? 0 : next + 1;
    return Buffer.from(`${head}authorization: Bearer ${tokens[next]}\r\n${end}`, "latin1");
  };
}

/** Makes calls one after the other. */
class Connection {
  readonly connected: Promise<void>;
  readonly #socket: Socket;
  readonly #requests: () => Buffer;
  readonly #load: Load;
  readonly #fail: (error: Error) => void;
  #sent = 0;
  /**
   * The remaining bytes of a body with a length. NaN before the head is complete, Infinity in a
   * chunked body.
   */
  #remaining = Number.NaN;
  /** The beginning of a head, or the last bytes of a chunked body. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(port: number, requests: () => Buffer, load: Load, fail: (error: Error) => void) {
    this.#requests = requests;
    this.#load = load;
    this.#fail = fail;
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.setTimeout(PATIENCE, () => fail(new Error(`no answer within ${PATIENCE} ms`)));
    this.connected = new Promise((resolve) => this.#socket.on("connect", resolve));
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", fail);
    this.#socket.on("end", () => fail(new Error("the server closed a connection")));
  }

  close(): void {
    this.#socket.removeAllListeners("error").on("error", () => undefined);
    this.#socket.destroy();
  }

  send(): void {
    this.#remaining = Number.NaN;
    this.#sent = performance.now();
    this.#socket.write(this.#requests());
  }

  #read(chunk: Buffer): void {
    const body = Number.isNaN(this.#remaining) ? this.#readHead(chunk) : chunk;
    if (body === undefined) return;
    if (this.#remaining === Number.POSITIVE_INFINITY) {
      this.#rest = Buffer.concat([this.#rest, body.subarray(-LAST_CHUNK.length)]).subarray(-LAST_CHUNK.length);
      if (this.#rest.toString("latin1") !== LAST_CHUNK) return;
      this.#rest = this.#rest.subarray(0, 0);
    } else {
      this.#remaining -= body.length;
      if (this.#remaining > 0) return;
    }
    this.#load.answered(performance.now() - this.#sent);
    if (!this.#load.stopped) this.send();
  }

  /** The bytes after the head, once it is complete. */
  #readHead(chunk: Buffer): Buffer | undefined {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const end = bytes.indexOf(END_OF_HEAD);
    this.#rest = end === -1 ? bytes : bytes.subarray(0, 0);
    if (end === -1) return undefined;
    const head = bytes.toString("latin1", 0, end);
    if (!head.startsWith(`HTTP/1.1 ${this.#load.status} `))
      this.#fail(new Error(`an answer was ${head.slice(0, head.indexOf("\r\n"))}`));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#remaining = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
    return bytes.subarray(end + END_OF_HEAD.length);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Microseconds. */
function ownTime(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

process.on("message", async (window: Window) => {
  try {
    process.send!({ measurement: await new Load(window).run() });
  } catch (error) {
    process.send!({ failure: (error as Error).message });
  }
});
