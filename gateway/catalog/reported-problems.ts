/** What the operator was told of the paths of a service, so that it is told once and taken back. */
import type { Logger } from "../../src/log.js";

/** Maximum problems that are reported of a service at once. */
const MAX_REPORTED = 20;

export class ReportedProblems {
  readonly #service: string;
  readonly #log: Logger;
  #reported: ReadonlySet<string> = new Set();

  constructor(service: string, log: Logger) {
    this.#service = service;
    this.#log = log;
  }

  /**
   * Reports the problems that are new, and those that are gone.
   * @param problems all that there are now
   */
  report(problems: readonly string[]): void {
    const [service, before, now] = [this.#service, this.#reported, new Set(problems)];
    this.#reported = now;
    const found = problems.filter((problem) => !before.has(problem));
    const gone = [...before].filter((problem) => !now.has(problem));
    for (const problem of atMost(MAX_REPORTED, found))
      this.#log.warn({ service, problem }, "a path of google.api.http is not served as declared");
    for (const problem of atMost(MAX_REPORTED, gone))
      this.#log.warn({ service, solved: problem }, "a path of google.api.http is served as declared again");
  }
}

function atMost(max: number, all: readonly string[]): readonly string[] {
  return all.length <= max ? all : [...all.slice(0, max), `and ${all.length - max} more`];
}
