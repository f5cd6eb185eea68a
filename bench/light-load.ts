/**
 * A steady light load of helloworld calls: one call every 20 ms, even if earlier calls have no
 * response yet.
 */
import { Agent, request } from "node:http";

const EVERY_MS = 20;
/** A call that takes longer counts as late. */
const DEADLINE_MS = 10_000;

export interface Load {
  readonly http: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly seconds: number;
}

export interface LightResult {
  readonly answered: number;
  /** The number of failed calls by HTTP status. Also `late`, and error codes of connections. */
  readonly refused: Readonly<Record<string, number>>;
  /** The number of refused calls for which a guard had no lease. */
  readonly withoutLease: number;
  /** Milliseconds, of the calls with a response. Undefined if there were none. */
  readonly p50?: number | undefined;
  readonly p99?: number | undefined;
}

interface Answer {
  readonly status: string;
  readonly body: string;
}

export async function loadBeside({ http, headers, seconds }: Load): Promise<LightResult> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  const refused: Record<string, number> = {};
  let withoutLease = 0;
  const call = async (): Promise<void> => {
    const began = performance.now();
    const { status, body } = await post(`${http}/v1/helloworld/call`, { headers, agent });
    if (status === "200") times.push(performance.now() - began);
    else refused[status] = (refused[status] ?? 0) + 1;
    if (body.includes("no decision is made without it")) withoutLease++;
  };
  const calls: Promise<void>[] = [];
  const count = (seconds * 1_000) / EVERY_MS;
  await new Promise<void>((resolve) => {
    const began = performance.now();
    const timer = setInterval(() => {
      // If the timer was late, the missing calls are made now.
      while (calls.length < count && calls.length * EVERY_MS < performance.now() - began) calls.push(call());
      if (calls.length < count) return;
      clearInterval(timer);
      resolve();
    }, EVERY_MS);
  });
  await Promise.all(calls);
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)];
  return { answered: times.length, refused, withoutLease, p50: at(0.5), p99: at(0.99) };
}

/** Posts JSON. Never rejects. */
export function post(
  url: string,
  { headers, agent, body = { name: "Ada" } }: { headers: Load["headers"]; agent: Agent; body?: object },
): Promise<Answer> {
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", headers, agent, signal: AbortSignal.timeout(DEADLINE_MS) });
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => {
        text += part;
      });
      response.on("end", () => resolve({ status: `${response.statusCode}`, body: text }));
      response.on("error", () => resolve({ status: "broken", body: "" }));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      resolve({ status: error.name === "AbortError" ? "late" : (error.code ?? error.name), body: "" });
    });
    sent.end(JSON.stringify(body));
  });
}
