/** Request bodies and expected responses: the greeting of services/helloworld, in several sizes. */

export interface Body {
  readonly name: string;
  /** JSON of exactly the size that the name says. */
  readonly request: string;
  /** Expected status of the response. */
  readonly status: number;
  /** Number of messages in the response, for the endpoint that responds with a stream. */
  readonly messages?: number;
  /** Headers in addition to those that a system needs. */
  readonly headers?: Readonly<Record<string, string>>;
}

const SENTENCE = "Portico greets the callers of all its services. ";
const FRAME = JSON.stringify({ name: "" }).length;

function body(name: string, size: number): Body {
  const text = SENTENCE.repeat(size / 40 + 1).slice(0, size - FRAME);
  return { name, request: JSON.stringify({ name: text }), status: 200 };
}

export const SMALL = body("15 B", 15);
export const MEDIUM = body("4 KiB", 4 * 1024);
export const LARGE = body("64 KiB", 64 * 1024);
/** A call as a browser sends it. */
export const FROM_BROWSER: Body = {
  ...SMALL,
  name: "15 B, a browser's headers",
  headers: {
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    accept: "application/json, text/plain, */*",
    "accept-language": "en-US,en;q=0.5",
    "accept-encoding": "gzip, deflate, br, zstd",
    referer: "http://localhost/explore/helloworld",
    "sec-fetch-dest": "empty",
    "sec-fetch-mode": "cors",
    "sec-fetch-site": "same-origin",
    priority: "u=4",
    pragma: "no-cache",
    "cache-control": "no-cache",
  },
};
/**
 * A body that the gateway reads to its end and then refuses, so nearly all the work is the
 * gateway's. Its text is written in escapes, as by encoders that write only ASCII. Escapes take
 * long to decode, so the generator, which shares the cores with the workers, uses only a tenth of
 * the workers' time. With a text without escapes, the generator would use half a core.
 */
export const REFUSED: Body = {
  name: "64 KiB of escapes, refused",
  request: `{"name":"${"\\u0440".repeat(10_919)}","none":1}`,
  status: 400,
};
export const BODIES: readonly Body[] = [SMALL, MEDIUM, LARGE];

/** A request for a stream. Each message of the stream has a text of `size` bytes. */
function stream(name: string, size: number, messages: number): Body {
  const text = SENTENCE.repeat(size / 40 + 1).slice(0, size);
  return { name, request: JSON.stringify({ name: text, messages: String(messages) }), status: 200, messages };
}

export const SHORT_STREAM = stream("Streams of 3 messages", 4, 3);
export const LONG_STREAM = stream("Streams of 1,000 messages", 4, 1_000);
export const LARGE_STREAM = stream("Streams of 100 messages of 16 KiB twice", 16 * 1024, 100);
export const STREAMS: readonly Body[] = [SHORT_STREAM, LONG_STREAM, LARGE_STREAM];

/** The expected response. It contains the greeting twice, so it is twice as long. */
export function answerTo(request: string): string {
  const greeting = `Hello ${JSON.parse(request).name}`;
  return JSON.stringify({ message: greeting, msg: greeting });
}
