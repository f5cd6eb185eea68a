/**
 * Compiles the .proto files of a service with buf. buf reports the place of each error and keeps
 * the comments.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { bindingProblems } from "./binding-problems.js";
import { CALLED, calledServices } from "./called-services.js";
import { inWorkspace, lacksGoogleApi, SERVICE_MODULE } from "./google-api.js";
import type { SourceProblem } from "./problem.js";

/** Maximum time of a run of buf, in milliseconds. */
const BUF_MS = 30_000;

/**
 * The result of compiling: descriptors with all imports, and the files of the services that it
 * calls; or the problems.
 */
export type Compiled = Contract | { readonly problems: readonly SourceProblem[] };

export interface Contract {
  readonly descriptors: FileDescriptorSet;
  readonly called: readonly FileDescriptorProto[];
}

/**
 * @param buf the path of the program.
 * @param folder of the service, with a folder `proto` in it.
 */
export function compileContract(buf: string, folder: string): Promise<Compiled> {
  if (!lacksGoogleApi(folder)) return compile(buf, folder, "proto", folder);
  return inWorkspace(folder, (workspace) => compile(buf, workspace, SERVICE_MODULE, folder));
}

/** The files that a contract is compiled from, with what changes when one of them is written. */
export function contractFiles(folder: string): string {
  const files = ["proto", CALLED].flatMap((name) => {
    const place = join(folder, name);
    if (!existsSync(place)) return [];
    return (readdirSync(place, { recursive: true }) as string[]).map((file) => join(place, file));
  });
  const stated = files.sort().map((file) => [file, statSync(file, { throwIfNoEntry: false })] as const);
  return stated.map(([file, stats]) => `${file} ${stats?.ino} ${stats?.size} ${stats?.mtimeMs}`).join("\n");
}

/** @param module folder of the .proto files, relative to `cwd`: the service's folder `proto` */
async function compile(buf: string, cwd: string, module: string, folder: string): Promise<Compiled> {
  const args = ["build", module, "--as-file-descriptor-set", "--error-format=json", "-o", "-"];
  const child = spawn(buf, args, { cwd, stdio: ["ignore", "pipe", "pipe"], timeout: BUF_MS });
  const [bytes, errors, [code]] = await Promise.all([buffer(child.stdout), text(child.stderr), once(child, "close")]);
  if (code !== 0) return { problems: problemsOf(errors, module, folder) };
  const descriptors = fromBinary(FileDescriptorSetSchema, bytes);
  const problems = bindingProblems(descriptors, folder);
  if (problems.length > 0) return { problems };
  for (const { sourceCodeInfo: info } of descriptors.file) {
    // Locations of elements without a comment are not used. With them, an empty line in the file
    // would change the contract.
    if (info) info.location = info.location.filter((one) => one.leadingComments || one.trailingComments);
  }
  const called = calledServices(descriptors.file, folder);
  return "problems" in called ? called : { descriptors, called: called.files };
}

/**
 * The names under which a service may register: the first part of each package that declares a gRPC
 * service, such as `greeter` of `greeter.v1`.
 */
export function serviceNamesOf({ file }: FileDescriptorSet): string[] {
  const packages = file.filter(({ service }) => service.length > 0).map((one) => one.package);
  return [...new Set(packages.map((name) => name.split(".")[0] ?? "").filter((name) => name !== ""))];
}

/** Whether an endpoint has the name `Call`. `GET /<service>` calls this endpoint. */
export function hasCall({ file }: FileDescriptorSet): boolean {
  return file.some(({ service }) => service.some(({ method }) => method.some(({ name }) => name === "Call")));
}

/** A line of `buf --error-format=json`. */
interface BufError {
  readonly path?: string;
  readonly start_line?: number;
  readonly start_column?: number;
  readonly end_line?: number;
  readonly end_column?: number;
  readonly message: string;
}

function problemsOf(errors: string, module: string, folder: string): SourceProblem[] {
  const lines = errors.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line): SourceProblem => {
    if (!line.startsWith("{")) return { message: line };
    const error = JSON.parse(line) as BufError;
    const { path, message, start_line: first, start_column: column, end_line: last, end_column: end } = error;
    const length = first === last && column !== undefined && end !== undefined ? end - column : 1;
    const file = path?.startsWith(`${module}/`) ? join("proto", path.slice(module.length + 1)) : path;
    return { file: file && join(folder, file), line: first, column, length, message };
  });
}
