/**
 * One turn of a system in a round of the benchmark: the system is started, its rows are measured,
 * and the system is stopped. A failure ends neither the run nor the turn: the system is started
 * again, and the row is measured once more. A row that fails twice in a run is not measured again.
 */

export interface Turn {
  readonly system: string;
  start(): Promise<void>;
  /** Measures one row, such as `15 B, 64 connections`. */
  measure(row: string): Promise<void>;
  /** Ends what `start` has started, even if `start` failed. */
  stop(): Promise<void>;
}

export interface Failure {
  readonly system: string;
  /** The row, or `START`. */
  readonly row: string;
  readonly error: string;
}

/** Used instead of a row if a system does not start, or responds wrongly after its start. */
export const START = "start";

/** After this number of failures in a run, a row is not measured again. */
const MAX_FAILURES = 2;

/** @param failures of the run. The failures of this turn are added. */
export async function takeTurn(turn: Turn, rows: readonly string[], failures: Failure[]): Promise<void> {
  const { system } = turn;
  const mayTry = (row: string) => isLeft(failures, system, row) && isLeft(failures, system, START);
  let isRunning = false;
  const attempt = async (row: string, action: () => Promise<void>) => {
    try {
      await action();
      return true;
    } catch (error) {
      failures.push({ system, row, error: (error as Error).message });
      isRunning = false;
      await turn.stop();
      return false;
    }
  };
  try {
    for (const row of rows) {
      while (mayTry(row)) {
        isRunning ||= await attempt(START, () => turn.start());
        if (isRunning && (await attempt(row, () => turn.measure(row)))) break;
      }
    }
  } finally {
    await turn.stop();
  }
}

/** Whether a row may still be measured, or a system may still be started. */
function isLeft(failures: readonly Failure[], system: string, row: string): boolean {
  return failures.filter((one) => one.system === system && one.row === row).length < MAX_FAILURES;
}

/** Whether a failure is a failure of Portico. Such a failure makes the run fail. */
export function isOurs({ system }: Failure): boolean {
  return system.startsWith("Portico");
}
