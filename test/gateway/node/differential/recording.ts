/**
 * The results of a server for the bytes of one connection, in a form in which two servers can be
 * compared: the requests that it found, its rejections and responses, and whether it keeps the
 * connection.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface RecordedRequest {
  readonly method: string;
  readonly target: string;
  /** Name, value, name, value … as sent. */
  readonly headers: readonly string[];
  /** Whether the request asks for a WebSocket. */
  readonly upgrade: boolean;
  /**
   * Whether the trailers have a field Connection. Only node:http reports it, because it obeys the
   * field.
   */
  connectionInTrailers?: true;
  /**
   * Whether the request has a Transfer-Encoding in HTTP/1.0. Only node:http reports it, because it
   * reads such a body.
   */
  oldCoding?: true;
  /** One character for each byte; undefined where the body never arrived completely. */
  body?: string;
  /** The status with which the server rejects the request. */
  error?: number;
  answered?: boolean;
}

/** What a server's handler records of a connection. */
export interface Recording {
  readonly requests: RecordedRequest[];
  /** The status with which bytes were rejected that never became a request. */
  refused?: number;
}

/** A recording, and what the client saw of the same connection. */
export interface Outcome extends Recording {
  /** The statuses of the responses, in order, including interim ones. */
  readonly statuses: readonly string[];
  /**
   * The numbers of the requests with a response, in order, from the header `Number` of each
   * response; 0 for rejected bytes.
   */
  readonly numbers: readonly string[];
  /** Whether the server has closed the connection, or announces that in its last response. */
  readonly closed: boolean;
}

/** A server that records one connection at a time. */
export interface RecordingServer {
  readonly port: number;
  recording: Recording;
  close(): Promise<void>;
}

/** In milliseconds. */
const MAX_WAIT = 30_000;
/** If nothing happens in this many turns of the event loop, both ends have nothing left to do. */
const QUIET_TURNS = 4;

const NUMBER = /^Number: (\d+)/gm;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Sends the chunks, each one when the server has processed the one before, and returns the outcome.
 */
export async function outcomeOf(server: RecordingServer, chunks: readonly Buffer[]): Promise<Outcome> {
  server.recording = { requests: [] };
  const client = new Client(server);
  await client.open();
  for (const chunk of chunks) {
    if (client.ended) break;
    await client.send(chunk);
  }
  const outcome = client.outcome();
  await client.close();
  return outcome;
}

class Client {
  readonly #server: RecordingServer;
  readonly #socket: Socket;
  /** The server's end of the connection. */
  #accepted: Socket | undefined;
  #sent = 0;
  #text = "";
  ended = false;

  constructor(server: RecordingServer) {
    this.#server = server;
    this.#socket = connect({ port: server.port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    this.#socket.setEncoding("latin1").on("data", (text) => {
      this.#text += text;
    });
    const end = (): void => {
      this.ended = true;
    };
    this.#socket.on("end", end).on("close", end);
    this.#socket.on("error", () => {}); // A reset counts as an end here.
  }

  async open(): Promise<void> {
    const onSocket = (message: unknown): void => {
      const { socket } = message as { socket: Socket };
      if (socket.localPort === this.#server.port) this.#accepted = socket;
    };
    subscribe("net.server.socket", onSocket);
    await once(this.#socket, "connect");
    await this.#until("the server accepts the connection", () => this.#accepted !== undefined);
    unsubscribe("net.server.socket", onSocket);
  }

  async send(chunk: Buffer): Promise<void> {
    this.#socket.write(chunk);
    this.#sent += chunk.length;
    const accepted = this.#accepted as Socket;
    // A server that has read an upgrade reads no further.
    const hasRead = (): boolean => accepted.bytesRead >= this.#sent || this.#isOver();
    await this.#until("the server reads all that was sent", () => this.ended || accepted.destroyed || hasRead());
    await this.#until("all complete requests have responses", () => this.ended || this.#isAnswered());
    await this.#settle();
  }

  /** Without FIN, the server could not know that an incomplete request has ended. */
  async close(): Promise<void> {
    this.#socket.end();
    await this.#until("the server closes the connection", () => this.ended && this.#accepted?.destroyed === true);
    this.#socket.destroy();
  }

  outcome(): Outcome {
    const responses = [...this.#text.matchAll(/HTTP\/1\.1 (\d{3})/g)];
    const numbers = [...this.#text.matchAll(NUMBER)];
    return {
      ...this.#server.recording,
      requests: this.#server.recording.requests.map((request) => ({ ...request })),
      statuses: responses.map(([, status]) => status as string),
      numbers: numbers.map(([, number]) => number as string),
      closed: this.ended || /^connection: close/im.test(this.#text),
    };
  }

  /**
   * Whether the server has rejected something, or handed the connection over: then it reads no
   * more.
   */
  #isOver(): boolean {
    const { requests, refused } = this.#server.recording;
    const last = requests.at(-1);
    return refused !== undefined || last?.upgrade === true || last?.error !== undefined;
  }

  /** Whether the server has sent all its responses, and they have arrived. */
  #isAnswered(): boolean {
    const { requests, refused } = this.#server.recording;
    const isDue = ({ body, answered }: RecordedRequest): boolean => body !== undefined || answered === true;
    const due = requests.filter(isDue).length + (refused === undefined ? 0 : 1);
    return [...this.#text.matchAll(NUMBER)].length >= due;
  }

  async #settle(): Promise<void> {
    const accepted = this.#accepted as Socket;
    for (let quiet = 0, before = ""; quiet < QUIET_TURNS; quiet++) {
      await turn();
      const { requests, refused } = this.#server.recording;
      const { body, error, answered } = requests.at(-1) ?? {};
      const now = [this.#text.length, this.ended, requests.length, refused, body?.length, error, answered].join();
      // When the server has closed the connection, it soon ends here too.
      if (now !== before || (accepted.writableEnded && !this.ended)) quiet = 0;
      before = now;
    }
  }

  async #until(event: string, isSo: () => boolean): Promise<void> {
    const late = Date.now() + MAX_WAIT;
    while (!isSo()) {
      if (Date.now() > late) throw new Error(`Waited ${MAX_WAIT} ms in vain until ${event}`);
      await turn();
    }
  }
}
