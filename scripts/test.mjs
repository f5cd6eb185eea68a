// npm test: installs and builds what is missing or stale, then runs the tests that need nothing but Node.
// Arguments are test files, or folders for all files of a kind in them. Without any: test/. --kind= is test, slow, outside,
// postgres or browser: the part of a file's name before .ts. --timeout= is in seconds for each file.
// --watch runs the files again after each change of what they are made of. --inspect runs those of one process, which waits
// for a debugger first.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, statSync, watch } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { setup } from "./setup.mjs";
import { nameOfBatch } from "./test-batch.mjs";

/**
 * How many processes run test files at a time: more than a small machine has processors, since most tests also wait. Tests
 * of the other kinds start large programs, such as browsers.
 */
const AT_A_TIME = 5;
const OTHERS_AT_A_TIME = 3;

/** The files of their kinds that take longest. They begin first, so that no other has ended long before them. */
const LONGEST = [
  "test/rpc/http2/silent-handler.outside.ts",
  "test/gateway/web/looks.browser.ts",
  "test/gateway/web/console-pages.browser.ts",
  "test/gateway/web/console-dialogs.browser.ts",
  "test/services/limits.slow.ts",
  "test/services/auth/kill.slow.ts",
];

/** The folders whose files tests are made of. */
const SOURCES = ["src", "gateway", "services", "cli", "test", "scripts"];

/** What a test names that runs the built program, or that builds. */
const NEEDS_PROGRAM = /\bdist\b|\bnpm\b|scripts\//;

/** How long after its files' time a process is ended, in milliseconds. */
const TIME_TO_REPORT = 30_000;

/** Test files that one process runs, all of one folder. */
const FILES_A_PROCESS = 8;

/**
 * Packages with native code or that look for files beside their own. All others are bundled with the tests: to read
 * tap's own 240 modules takes each test file longer than most tests.
 */
const NOT_BUNDLED = [
  ...[
    "sqlite3",
    "keyv",
    "@keyv/sqlite",
    "@lydell/node-pty",
    "esbuild",
    "typescript",
    "tsx",
    "playwright-core",
    "axe-core",
  ],
  ...["@grpc/grpc-js", "@grpc/proto-loader", "protobufjs", "undici"],
];
/** CommonJS packages inside an ESM bundle still call require for Node's own modules. */
const REQUIRE =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

const { values, positionals } = parseArgs({
  options: {
    kind: { type: "string", default: "test" },
    timeout: { type: "string", default: "120" },
    watch: { type: "boolean", default: false },
    inspect: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const files = (positionals.length > 0 ? positionals : ["test"]).flatMap((path) => filesAt(relative("", path)));

await setup();
const folder = `.tap/built/${process.pid}`;
const batches = batchesOf(files);
if (values.inspect && batches.length > 1) stop("--inspect is for the test files of one process: name one file");
/** The files that the tests are made of, as far as they are known. */
let inputs = new Set(files);
let isInterrupted = false;
if (values.watch) await runAgain();
else process.exitCode = await run();

/** The file, or all files of the kind in the folder. */
function filesAt(path) {
  const found = statSync(path, { throwIfNoEntry: false }) ?? stop(`There is no test file ${path}`);
  if (found.isFile()) return [path];
  const names = readdirSync(path, { recursive: true }).filter((name) => name.endsWith(`.${values.kind}.ts`));
  if (names.length === 0) stop(`There is no test file in ${path} that ends with .${values.kind}.ts`);
  const files = names.map((name) => join(path, name)).sort();
  return [...LONGEST.filter((file) => files.includes(file)), ...files.filter((file) => !LONGEST.includes(file))];
}

function stop(reason) {
  console.error(reason);
  process.exit(2);
}

/** The files that each process runs. */
function batchesOf(files) {
  const batches = [];
  for (const file of files) {
    const last = batches.at(-1);
    const fits = last !== undefined && last.length < filesAProcess() && dirname(last[0]) === dirname(file);
    if (fits) last.push(file);
    else batches.push([file]);
  }
  return batches;
}

/** Tests of other kinds take long: there the process is what takes least. */
function filesAProcess() {
  return values.kind === "test" ? FILES_A_PROCESS : 1;
}

function atATime() {
  return values.kind === "test" ? AT_A_TIME : OTHERS_AT_A_TIME;
}

/** Runs the tests, and again after each change, until it is interrupted. */
async function runAgain() {
  let onChange = () => {};
  const watchers = SOURCES.map((source) =>
    watch(source, { recursive: true }, (_, name) => {
      if (inputs.has(join(source, name ?? ""))) onChange();
    }),
  );
  while (!isInterrupted) {
    const changed = new Promise((resolve) => {
      onChange = resolve;
    });
    // What does not compile is reported, and may be mended.
    await run().catch(() => undefined);
    if (isInterrupted) break;
    console.log("Waiting for a change. Ctrl-C ends.");
    await changed;
  }
  for (const watcher of watchers) watcher.close();
}

/** Gives the exit code. Compiled beforehand, the tests take half the time: a loader would do it anew in each process. */
async function run() {
  try {
    inputs = await compile();
    if ([...inputs].some(needsProgram)) {
      const { build } = await import("./build.mjs");
      await build();
    }
    console.log(`Running ${files.length} test files, ${atATime()} processes at a time`);
    return await runCompiled();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether an input is a file of the tests, and runs the built program. */
function needsProgram(input) {
  return input.startsWith("test/") && NEEDS_PROGRAM.test(readFileSync(input, "utf8"));
}

/** Gives the files that the tests are made of. */
async function compile() {
  const { build: bundle, stop } = await import("esbuild");
  const programs = batches.map((_, index) => ({ in: `batch:${index}`, out: nameOfBatch(index) }));
  const tests = files.map((file) => ({ in: file, out: file.replace(/\.ts$/, "") }));
  const bundled = bundle({
    entryPoints: [...programs, ...tests],
    outdir: folder,
    bundle: true,
    splitting: true,
    external: NOT_BUNDLED,
    format: "esm",
    platform: "node",
    target: "node20",
    banner: { js: REQUIRE },
    alias: { "async-hook-domain": "./scripts/test-domain.mjs" },
    plugins: [batching()],
    sourcemap: "linked",
    sourcesContent: false,
    logLevel: "warning",
    metafile: true,
  });
  // The service would keep what it has read for the next time.
  const { metafile } = await bundled.finally(stop);
  return new Set(Object.keys(metafile.inputs).filter((input) => SOURCES.includes(input.split("/")[0])));
}

/** The programs that run several files, and for each file a tap whose `t` is the test of the file. */
function batching() {
  const resolveDir = process.cwd();
  const setup = (build) => {
    build.onResolve({ filter: /^batch:/ }, ({ path }) => ({ path: path.slice("batch:".length), namespace: "batch" }));
    build.onLoad({ filter: /.*/, namespace: "batch" }, ({ path }) => {
      const loads = batches[path].map(
        (file) => `${JSON.stringify(file)}: () => import(${JSON.stringify(`./${file}`)})`,
      );
      const contents = `import { runFiles } from "./scripts/test-files.mjs"; runFiles({ ${loads.join(", ")} });`;
      return { contents, resolveDir };
    });
    build.onResolve({ filter: /^tap$/ }, ({ importer }) => {
      const path = relative(resolveDir, importer);
      return files.includes(path) ? { path, namespace: "tap-of" } : undefined;
    });
    build.onLoad({ filter: /.*/, namespace: "tap-of" }, () => {
      const contents = `import { testOfFile } from "./scripts/test-files.mjs"; export default testOfFile();`;
      return { contents, resolveDir };
    });
  };
  return { name: "batching", setup };
}

async function runCompiled() {
  const options = ["--test", `--test-concurrency=${atATime()}`];
  const reporter = ["--test-reporter=./scripts/test-reporter.mjs", "--test-reporter-destination=stdout"];
  // Each file has its own time, which TAP_TIMEOUT says: tap names what has not ended, and the runner could only end it.
  const timeout = `--test-timeout=${Number(values.timeout) * 1000 * filesAProcess() + TIME_TO_REPORT}`;
  const compiled = batches.map((_, index) => join(folder, `${nameOfBatch(index)}.js`));
  // Through a pipe: where its own output is a terminal, Node's runner has the tests print colours (FORCE_COLOR).
  const args = values.inspect ? ["--inspect-brk"] : [...options, ...reporter, timeout];
  const child = spawn(process.execPath, [...args, ...compiled], {
    stdio: ["ignore", "pipe", "inherit"],
    env: plainEnvironment(),
  });
  child.stdout.pipe(process.stdout, { end: false });
  const forward = (signal) => {
    isInterrupted = true;
    child.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, forward);
  const [code] = await once(child, "close");
  for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, forward);
  return code ?? 1;
}

/** The same for every run, whatever the terminal and the shell that it was started from, and the user's settings of Portico. */
function plainEnvironment() {
  const { FORCE_COLOR: _, NO_COLOR: __, ...env } = process.env;
  for (const name of Object.keys(env)) {
    if (name.startsWith("PORTICO_") && name !== "PORTICO_CHROMIUM") delete env[name];
  }
  const variables = { TEST_RUN_FOLDER: folder, TEST_FILES: JSON.stringify(batches) };
  // Who debugs takes time: 0 stands for no limit.
  return { ...env, TAP_TIMEOUT: values.inspect ? "0" : values.timeout, ...variables };
}
