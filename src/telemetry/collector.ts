/**
 * A collector of spans, reached by OTLP/HTTP with protobuf
 * (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

/** Maximum bytes of a response that are read. */
const MAX_RESPONSE = 64 * 1024;

export interface CollectorResponse {
  readonly status: number;
  /** How long the collector asks to wait, in milliseconds; undefined where it does not. */
  readonly retryAfterMs: number | undefined;
  readonly body: Uint8Array;
}

export class Collector {
  readonly #url: URL;
  readonly #agent: HttpAgent | HttpsAgent;

  /** @param base `http://host:4318` */
  constructor(base: string) {
    this.#url = new URL(`${base.replace(/\/$/, "")}/v1/traces`);
    const options = { keepAlive: true };
    this.#agent = this.#url.protocol === "https:" ? new HttpsAgent(options) : new HttpAgent(options);
  }

  /** Its address, for logs. */
  get origin(): string {
    return this.#url.origin;
  }

  /**
   * Sends a request. No redirect is followed.
   * @throws {Error} (rejects) when no complete response has come before the signal is aborted
   */
  post(body: Uint8Array, signal: AbortSignal): Promise<CollectorResponse> {
    const request = this.#url.protocol === "https:" ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const headers = { "Content-Type": "application/x-protobuf", "Content-Length": body.length };
      const options = { method: "POST", agent: this.#agent, signal, headers };
      let hasResponse = false;
      const outgoing = request(this.#url, options, (response) => {
        hasResponse = true;
        responseOf(response).then(resolve, reject);
      });
      outgoing.on("error", reject);
      // Node has no other event where a server switches to another protocol (101).
      outgoing.on("close", () => {
        if (!hasResponse) reject(new Error("the connection was closed without a response"));
      });
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** @throws {Error} (rejects) for a response that is too large, or cut short */
async function responseOf(response: IncomingMessage): Promise<CollectorResponse> {
  let body = Buffer.alloc(0);
  for await (const chunk of response) {
    body = Buffer.concat([body, chunk as Buffer]);
    if (body.length > MAX_RESPONSE) throw new Error(`the response is larger than ${MAX_RESPONSE} bytes`);
  }
  const retryAfterMs = readRetryAfter(response.headers["retry-after"]);
  return { status: response.statusCode ?? 0, retryAfterMs, body };
}

/** Reads Retry-After: seconds, or a date (RFC 9110 §10.2.3). */
export function readRetryAfter(text: string | undefined, now = Date.now()): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
