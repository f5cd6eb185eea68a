/**
 * A well-behaved client beside a hostile one. It calls again and again, and measures the latency.
 */
import { Agent, get } from "node:http";
import type { HttpPort } from "../dial.js";

export interface Neighbour {
  /**
   * Stops calling.
   * @returns the number of calls with a response, and the 50th and 99th percentile and the maximum
   * of the latency in milliseconds
   */
  stop(): Promise<{ calls: number; failures: string[]; latency: string }>;
}

export function neighbour({ address }: HttpPort): Neighbour {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const failures: string[] = [];
  let stopping = false;
  const call = (): Promise<void> =>
    new Promise((resolve) => {
      const started = performance.now();
      const request = get({ host: "127.0.0.1", port: address.port, path: "/neighbour", agent }, (response) => {
        if (response.statusCode !== 200) failures.push(`${response.statusCode}`);
        response.resume().once("end", () => {
          times.push(performance.now() - started);
          resolve();
        });
        response.once("error", (error) => failures.push(error.message));
      });
      request.once("error", (error) => {
        failures.push(error.message);
        resolve();
      });
    });
  const calls = (async () => {
    while (!stopping) await call();
  })();
  return {
    async stop() {
      stopping = true;
      await calls;
      agent.destroy();
      times.sort((one, other) => one - other);
      const at = (share: number): string => (times[Math.floor(share * (times.length - 1))] ?? Number.NaN).toFixed(2);
      return { calls: times.length, failures, latency: `p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)} ms` };
    },
  };
}
