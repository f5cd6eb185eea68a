/** What Portico aims at, as ratios within one run: they hold on a slow or busy machine as on a fast one. */
import type { Results, SystemResult, Telling } from "./results.js";

export interface Verdict {
  readonly aim: string;
  readonly found: string;
  readonly met: boolean;
}

const MAIN = "15 B, 64 connections";
const SCALING = "64 KiB of escapes, refused, 64 connections";

/** Each aim whose systems were measured. */
export function verdicts({ systems }: Results): Verdict[] {
  const named = (name: string) => systems.find((system) => system.name === name);
  const [ceiling, inProcess] = [named("node:http, fixed answer"), named("Portico in process")];
  const [manyRules, mesh] = [named("Portico in process, 100,000 rules"), named("Portico mesh, http2 → http2")];
  const twoWorkers = named("Portico mesh, http2 → http2, 2 workers");
  const go = named("Go grpc-gateway → Go gRPC");
  const found: Verdict[] = [];
  const say = (aim: string, value: string, met: boolean) => found.push({ aim, found: value, met });

  if (ceiling && inProcess) {
    const share = at(inProcess).rate / at(ceiling).rate;
    say("in process at least 0.85 of node:http's calls a second", share.toFixed(2), share >= 0.85);
  }
  if (ceiling && mesh) {
    const ratio = gateway(mesh) / gateway(ceiling);
    say("the mesh gateway takes at most 1.5 times node:http's processor time a call", ratio.toFixed(2), ratio <= 1.5);
  }
  if (go && mesh) {
    const both = `${gateway(mesh).toFixed(1)} and ${gateway(go).toFixed(1)} µs`;
    say("the mesh gateway takes less processor time than Go's grpc-gateway", both, gateway(mesh) < gateway(go));
    const tails = `${at(mesh).p99.toFixed(1)} and ${at(go).p99.toFixed(1)} ms`;
    say("the 99th percentile is no worse than grpc-gateway's", tails, at(mesh).p99 <= at(go).p99);
  }
  if (mesh) {
    const service = at(mesh).processor[mesh.roles.indexOf("service")]!;
    say("a service takes at most 5 µs a call", `${service.toFixed(1)} µs`, service <= 5);
  }
  if (mesh && twoWorkers) {
    const ratio = gateway(twoWorkers) / gateway(mesh);
    const aim = "a call through two workers takes at most 1.25 times the processor time of one";
    say(aim, ratio.toFixed(2), ratio <= 1.25);
    const [one, two] = [mesh, twoWorkers].map(({ points }) => points[SCALING]?.rate);
    if (one && two) {
      const rates = [one, two].map((rate) => Math.round(rate).toLocaleString("en")).join(" and ");
      const growth = `${(two / one).toFixed(2)}; ${rates} calls/s`;
      say(
        "two workers answer at least 1.5 times as many calls as one, where the work is theirs",
        growth,
        two / one >= 1.5,
      );
    }
  }
  if (inProcess && manyRules) {
    const ratio = gateway(manyRules) / gateway(inProcess);
    say("100,000 rules cost at most 5 % more than ten", ratio.toFixed(2), ratio <= 1.05);
  }
  if (inProcess) {
    const most = Math.max(...Object.values(inProcess.points).map(({ memory }) => memory.at(-1)!));
    say("first answer within 500 ms", `${Math.round(inProcess.start)} ms`, inProcess.start < 500);
    say("less than 150 MB resident under load", `${Math.round(most * 1.048576)} MB`, most * 1.048576 < 150);
  }
  return found;
}

function at(system: SystemResult): Telling {
  return system.points[MAIN]!;
}

function gateway(system: SystemResult): number {
  return at(system).processor.at(-1)!;
}
