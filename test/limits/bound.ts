/** What guards of several processes have counted together, against the bound of a limit. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Test } from "tap";
import { until } from "../support/until.js";

/** The numbers of a rate. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * The most calls beyond burst + rate × t that were counted in any time t; 0 if the bound held.
 * @param moments in milliseconds, in any order
 */
export function excess(moments: readonly number[], { perSecond, burst }: Rate): number {
  const sorted = [...moments].sort((a, b) => a - b);
  let meter = burst;
  let at = sorted[0] ?? 0;
  let most = 0;
  for (const moment of sorted) {
    meter = Math.min(burst, meter + ((moment - at) * perSecond) / 1_000) - 1;
    at = moment;
    most = Math.max(most, -meter);
  }
  return most;
}

/** How a call of a guard process ended. `unavailable` is every error but a refusal by a limit. */
export type CallOutcome = "counted" | "refused" | "unavailable";

/** A call of a guard process. */
export interface GuardCall {
  /** When it was counted or refused, in milliseconds since 1970. */
  readonly at: number;
  /** The client's address. */
  readonly address: string;
  readonly outcome: CallOutcome;
}

interface GuardOptions {
  readonly authority: readonly string[];
  readonly token: string;
  readonly perSecond: number;
  /** The addresses that calls come from, in turn. Default: one. */
  readonly addresses?: readonly string[];
}

/** A running test/limits/guard-process.ts. */
export class GuardProcess {
  /** In the order in which they ended. */
  readonly calls: GuardCall[] = [];
  readonly child: ChildProcess;
  #line = "";
  #ready = false;

  constructor(t: Test, options: GuardOptions) {
    const program = resolve("test/limits/guard-process.ts");
    this.child = spawn(process.execPath, ["--import=tsx", program, JSON.stringify(options)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    t.teardown(() => this.kill());
  }

  #read(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "ready") this.#ready = true;
      else {
        const [at, address = "", outcome] = line.split(" ");
        this.calls.push({ at: Number(at), address, outcome: outcome as CallOutcome });
      }
    }
  }

  /** When calls were counted, in milliseconds since 1970. */
  get moments(): number[] {
    return this.calls.filter(({ outcome }) => outcome === "counted").map(({ at }) => at);
  }

  /** Resolves when the guard decides. */
  async ready(): Promise<this> {
    await until(() => this.#ready, { what: () => "a guard decides" });
    return this;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const closed = once(this.child, "close");
    this.child.kill("SIGKILL");
    await closed;
  }
}
