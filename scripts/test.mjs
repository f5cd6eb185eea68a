// npm test: installs and builds what is missing or out of date, then runs the tests that need only
// Node.
// Arguments are test files or folders. A folder means all its files of the chosen kind. Default:
// test/.
// --kind= is test, slow, outside, postgres or browser: the part of a file's name before .ts.
// --timeout= is the time for each file in seconds.
// --watch runs the files again after each change of their sources.
// --inspect runs the files of one process, which first waits for a debugger.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, statSync, watch } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { setup } from "./setup.mjs";
import { nameOfBatch } from "./test-batch.mjs";

/**
 * How many processes run test files at the same time. More than a small computer has processors,
 * because most tests also wait. Tests of the other kinds start large programs, such as browsers.
 */
const AT_A_TIME = 6;
const OTHERS_AT_A_TIME = 3;

/**
 * The slowest files of their kinds, and folders whose processes take longest. They begin first, so
 * that the run does not wait for them at its end.
 */
const LONGEST = [
  "test/rpc/http2/silent-handler.outside.ts",
  "test/cli/roles/haproxy.outside.ts",
  "test/gateway/web/races.browser.ts",
  "test/gateway/web/looks.browser.ts",
  "test/gateway/web/console-pages.browser.ts",
  "test/gateway/web/explore-races.browser.ts",
  "test/gateway/web/console-dialogs.browser.ts",
  "test/cli/audit-follow.slow.ts",
  "test/services/limits.slow.ts",
  "test/scripts/package.slow.ts",
  "test/services/auth/settling.slow.ts",
  "test/services/auth/kill.slow.ts",
  "test/services/auth/scale.slow.ts",
  "test/docs/tutorial.slow.ts",
  "test/cli/roles/rolling-restart.postgres.ts",
  "test/services/auth/settling.postgres.ts",
  "test/services/auth/",
  "test/scenarios/",
  "test/cli/roles/",
  "test/access/",
  "test/store/",
  "test/oauth/",
  "test/rpc/http2/",
];

/** The folders with the sources of the tests. */
const SOURCES = ["src", "gateway", "services", "cli", "test", "scripts"];

/** A test that contains one of these texts runs the built program, or builds it. */
const NEEDS_PROGRAM = /\bdist\b|\bnpm\b|scripts\//;

/**
 * Time that a process gets in addition to the time for its files, in milliseconds. Then it is
 * killed.
 */
const TIME_TO_REPORT = 30_000;

/** The number of test files that one process runs. */
const FILES_A_PROCESS = 12;

/**
 * Packages with native code, and packages that look for files next to their own. All others are
 * bundled with the tests: reading tap's 240 modules takes longer for each test file than most
 * tests.
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
    "@cyclonedx/cyclonedx-library",
  ],
  ...["@grpc/grpc-js", "@grpc/proto-loader", "protobufjs", "undici"],
];
/** CommonJS packages inside an ESM bundle still call `require` for Node's own modules. */
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
/** The sources of the tests, as far as they are known. */
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
  const placeOf = (file) => {
    const place = LONGEST.findIndex((long) =>
      long.endsWith("/") ? dirname(file) === long.slice(0, -1) : file === long,
    );
    return place < 0 ? LONGEST.length : place;
  };
  return files.sort((one, other) => placeOf(one) - placeOf(other));
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
    if (last !== undefined && last.length < filesAProcess()) last.push(file);
    else batches.push([file]);
  }
  return batches;
}

/** Tests of other kinds take long, so starting a process for each file costs little there. */
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
    // A compile error is reported, and the next change may correct it.
    await run().catch(() => undefined);
    if (isInterrupted) break;
    console.log("Waiting for a change. Ctrl-C ends.");
    await changed;
  }
  for (const watcher of watchers) watcher.close();
}

/**
 * Returns the exit code. The tests are compiled first, which halves their time: a loader would
 * compile them again in each process.
 */
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

/** Whether an input is a test file that runs the built program. */
function needsProgram(input) {
  return input.startsWith("test/") && NEEDS_PROGRAM.test(readFileSync(input, "utf8"));
}

/** Compiles the tests, and returns their source files. */
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
  // The service would cache what it has read for the next time.
  const { metafile } = await bundled.finally(stop);
  return new Set(Object.keys(metafile.inputs).filter((input) => SOURCES.includes(input.split("/")[0])));
}

/** The programs that run several files each. For each file, `t` of tap is the test of that file. */
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
  // Each file has its own time, TAP_TIMEOUT: then tap names the tests that have not ended. The
  // runner could only kill the process.
  const timeout = `--test-timeout=${Number(values.timeout) * 1000 * filesAProcess() + TIME_TO_REPORT}`;
  const compiled = batches.map((_, index) => join(folder, `${nameOfBatch(index)}.js`));
  // Through a pipe: if its own output is a terminal, Node's runner makes the tests print colours
  // (FORCE_COLOR).
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

/**
 * The same environment for every run, whatever the terminal, the shell and the user's settings of
 * Portico are.
 */
function plainEnvironment() {
  const { FORCE_COLOR: _, NO_COLOR: __, ...env } = process.env;
  for (const name of Object.keys(env)) {
    if (name.startsWith("PORTICO_") && name !== "PORTICO_CHROMIUM") delete env[name];
  }
  const variables = { TEST_RUN_FOLDER: folder, TEST_FILES: JSON.stringify(batches) };
  // Debugging takes time: 0 means no limit.
  return { ...env, TAP_TIMEOUT: values.inspect ? "0" : values.timeout, ...variables };
}
