/**
 * `portico build`: writes generated code to `gen/`, as `portico dev` does after each change, and
 * bundles to `dist/` what runs on another machine.
 */
import { readdirSync } from "node:fs";
import { basename, resolve } from "node:path";
import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { paintFor } from "../terminal/text.js";
import { Bundler } from "./bundle.js";
import { compileContract } from "./contract.js";
import { DIST, deployment } from "./deployment.js";
import { CodeGenerator } from "./generated-code.js";
import { framed, type SourceProblem } from "./problem.js";
import { findTools } from "./tools.js";

/**
 * Builds the service in a folder: `main.ts`, and each test next to it.
 * @throws {CommandError} with the problems and their places.
 */
export async function build(folder: string, io: Io): Promise<void> {
  const root = resolve(folder);
  const tools = findTools(root);
  const compiled = await compileContract(tools.buf, root);
  if ("problems" in compiled) throw failed(compiled.problems, root, io);
  await new CodeGenerator(tools.tsProto).generate(compiled, root);
  const tests = readdirSync(root).filter((name) => name.endsWith(".test.ts"));
  const { options, write } = deployment(root);
  const bundlers = [
    new Bundler(tools.esbuild, root, ["main.ts"], options),
    new Bundler(tools.esbuild, root, tests, { outdir: DIST }),
  ];
  const problems: SourceProblem[] = [];
  for (const bundler of bundlers) {
    problems.push(...(await bundler.bundle()).problems);
    await bundler.close();
  }
  if (problems.length > 0) throw failed(problems, root, io);
  write();
}

function failed(problems: readonly SourceProblem[], root: string, io: Io): CommandError {
  const lines = problems.flatMap((problem) => framed(problem, process.cwd(), paintFor(io.stderr, io.env)));
  return new CommandError([`${basename(root)} is not built`, ...lines].join("\n").trimEnd());
}
