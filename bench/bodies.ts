/** What is sent, and what must come back: the greeting of services/helloworld, in three sizes. */

export interface Body {
  readonly name: string;
  /** JSON, of exactly as many bytes as the name says. */
  readonly request: string;
  /** Of the answer. */
  readonly status: number;
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
/** Read to its end, and then refused: nearly all the work there is with it is the gateway's. */
export const REFUSED: Body = {
  name: "4 KiB, refused",
  request: MEDIUM.request.replace(/.{9}"}$/, '","none":1}'),
  status: 400,
};
export const BODIES: readonly Body[] = [SMALL, MEDIUM, LARGE];

/** The answer has the greeting twice, so it is twice as long. */
export function answerTo(request: string): string {
  const greeting = `Hello ${JSON.parse(request).name}`;
  return JSON.stringify({ message: greeting, msg: greeting });
}
