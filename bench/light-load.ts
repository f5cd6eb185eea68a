/** A steady light load of helloworld calls: one every 20 ms, whether or not those before it were answered. */
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
  /** By HTTP status; `late`, and codes of connections that failed. */
  readonly refused: Readonly<Record<string, number>>;
  /** Those of the refusals that a guard gave because it had no lease. */
  readonly withoutLease: number;
  /** In milliseconds, of the calls that were answered; undefined where none was. */
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
      // A timer that was late makes up for it.
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

/** Posts JSON. Resolves whatever becomes of it. */
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
