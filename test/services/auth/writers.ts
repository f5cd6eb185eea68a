/** Runs writer.ts in processes of their own. Bundled once, so that they start quickly. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { openStore } from "../../../src/store/open.js";
import { bundleInto } from "../../support/bundle.js";
import { openJournal } from "./open.js";

export interface Writer {
  readonly process: ChildProcess;
  /** The names of the rules that were acknowledged so far. */
  readonly acknowledged: string[];
  /** Resolves at the first acknowledgement, or when the process has ended without one. */
  readonly begun: Promise<void>;
  /** The exit code or the signal, and what the process wrote to stderr. */
  readonly ended: Promise<string>;
}

/** Bundles the program into the folder, which must be inside the repository. */
export async function bundleWriter(folder: string): Promise<(...args: string[]) => Writer> {
  const program = await bundleInto(folder, "test/services/auth/writer.ts");
  return (...args) => start(program, args);
}

function start(program: string, args: string[]): Writer {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const acknowledged: string[] = [];
  let complaints = "";
  child.stderr.on("data", (text) => {
    complaints += text;
  });
  const lines = createInterface(child.stdout);
  const ended = new Promise<string>((resolve) => {
    child.on("close", (code, signal) => resolve(`${signal ?? code} ${complaints}`.trim()));
  });
  const first = new Promise<void>((resolve) => lines.once("line", () => resolve()));
  lines.on("line", (line) => acknowledged.push(line));
  return { process: child, acknowledged, begun: Promise.race([first, ended.then(() => undefined)]), ended };
}

/**
 * The content of the store in a folder: all rule IDs, the rules whose creation is in the audit
 * trail, and the newest revision. Reads every entry that is left.
 */
export async function readStore(
  folder: string,
): Promise<{ ids: Set<string>; recorded: Set<string>; revision: number }> {
  const store = await openStore("sqlite:", folder);
  try {
    const journal = await openJournal(store);
    const rules = journal.state.namespaces.get("default")?.rules;
    const recorded = new Set<string>();
    for (let before: bigint | undefined; ; ) {
      const records = await journal.audit.list("default", { before, limit: 1_000 });
      for (const { action, subject } of records) if (action === "rule created") recorded.add(subject);
      if (records.length < 1_000) return { ids: new Set(rules?.keys()), recorded, revision: journal.state.revision };
      before = records.at(-1)!.revision;
    }
  } finally {
    await store.close();
  }
}
