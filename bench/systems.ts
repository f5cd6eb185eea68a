/** What is measured: each system as the processes it takes, and the call that every one of them answers alike. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerTo, BODIES } from "./bodies.js";
import { copy, type Installation, install, PORTICO } from "./portico-data.js";
import { freePort, isInstalled, type Program } from "./processes.js";

export interface System {
  readonly name: string;
  /** Why it cannot be measured here. */
  readonly missing?: string;
  /** A variant of another system, measured with the small payload and 64 connections only. */
  readonly variant?: true;
  /** One of two that differ in their workers alone. */
  readonly scaling?: true;
  /** What must run: those behind first, the one that callers reach last. */
  readonly programs: readonly (Program & { readonly port: number })[];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const ROOT = join(import.meta.dirname, "..");
const PATH = "/v1/helloworld/call";
const CONNECT_PATH = "/helloworld.Helloworld/Call";

/** Builds what is to be built, and gives every system. `folder` is for what they write. */
export async function prepare(folder: string): Promise<System[]> {
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: ROOT, stdio: "inherit" });
  const portico = await install(join(folder, "portico"));
  const answers = join(folder, "answers.json");
  writeFileSync(
    answers,
    JSON.stringify(Object.fromEntries(BODIES.map(({ request }) => [request.length, answerTo(request)]))),
  );
  const ceiling = await peer("service", "ceiling.js", answers);
  return [
    system("node:http, fixed answer", [ceiling]),
    await inProcess("Portico in process", await copy(portico)),
    { ...(await inProcess("Portico in process, 100,000 rules", await copy(portico, 99_990))), variant: true },
    { ...(await inProcess("Portico in process, access log on", await copy(portico), "info")), variant: true },
    { ...(await mesh("Portico mesh, http2 → http2", await copy(portico), "http2", "http2")), scaling: true },
    {
      ...(await mesh("Portico mesh, http2 → http2, 2 workers", await copy(portico), "http2", "http2", 2)),
      variant: true,
      scaling: true,
    },
    await mesh("Portico mesh, http2 → grpc-js", await copy(portico), "http2", "grpc-js"),
    await mesh("Portico mesh, grpc-js → grpc-js", await copy(portico), "grpc-js", "grpc-js"),
    await fastify(),
    await moleculer(),
    await connect(folder),
    await go(),
    await nginx(folder, ceiling),
  ];
}

function system(name: string, programs: System["programs"], path = PATH, headers = {}): System {
  return { name, programs, path, headers };
}

/** A peer's program for Node: it is given its port, and then `args`. */
async function peer(role: string, file: string, ...args: unknown[]) {
  const port = await freePort();
  const script = join(import.meta.dirname, "systems", file);
  return { role, command: process.execPath, args: [script, String(port), ...args.map(String)], port };
}

async function role(name: string, args: string[], env: Record<string, string>) {
  const port = await freePort();
  const isFront = name === "gateway";
  const addresses = {
    PORTICO_HTTP: `127.0.0.1:${isFront ? port : 0}`,
    PORTICO_GRPC: `127.0.0.1:${isFront ? 0 : port}`,
    PORTICO_ADMIN: "127.0.0.1:0",
  };
  return {
    role: name,
    command: process.execPath,
    args: ["--max-semi-space-size=8", "--initial-old-space-size=64", PORTICO, ...args], // As docs/deploying.md starts it.
    env: { PORTICO_LOG_LEVEL: "warn", PORTICO_MAX_RULES: "100000", ...addresses, ...env },
    port,
  };
}

export async function inProcess(name: string, { folder, token }: Installation, logLevel = "warn"): Promise<System> {
  const server = await role("gateway", ["server"], { PORTICO_DATA: folder, PORTICO_LOG_LEVEL: logLevel });
  return system(name, [server], PATH, { authorization: `Bearer ${token}` });
}

/** @param client how the gateway calls. @param server how the service is served. */
export async function mesh(
  name: string,
  { folder, token }: Installation,
  client: string,
  server: string,
  workers = 1,
): Promise<System> {
  const data = { PORTICO_DATA: folder };
  const authority = await role("authority", ["authority"], { ...data, PORTICO_TRANSPORT: server });
  const joined = { ...data, PORTICO_AUTHORITY: `127.0.0.1:${authority.port}` };
  const service = await role("service", ["service", "helloworld"], { ...joined, PORTICO_TRANSPORT: server });
  const gateway = await role("gateway", ["gateway"], {
    ...joined,
    PORTICO_TRANSPORT: client,
    PORTICO_WORKERS: String(workers),
  });
  return system(name, [authority, service, gateway], PATH, { authorization: `Bearer ${token}` });
}

async function fastify(): Promise<System> {
  const service = await peer("service", "grpc-js-service.js");
  return system("fastify + grpc-js", [service, await peer("gateway", "fastify-gateway.js", service.port)]);
}

async function moleculer(): Promise<System> {
  const [behind, front, http] = [await freePort(), await freePort(), await freePort()];
  const script = join(import.meta.dirname, "systems/moleculer.js");
  const node = (role: string, port: number, other: string, ...args: string[]) => ({
    role,
    command: process.execPath,
    args: [script, role, String(port), other, ...args],
    port,
  });
  return system("moleculer-web, TCP", [
    node("service", behind, `127.0.0.1:${front}/gateway`),
    { ...node("gateway", front, `127.0.0.1:${behind}/service`, String(http)), port: http },
  ]);
}

async function connect(folder: string): Promise<System> {
  const descriptors = join(folder, "helloworld.binpb");
  buf("build", "proto", "--path", "proto/helloworld", "--as-file-descriptor-set", "-o", descriptors);
  const service = await peer("service", "grpc-js-service.js");
  const gateway = await peer("gateway", "connect-gateway.js", service.port, descriptors);
  return system("Connect for Node → grpc-js", [service, gateway], CONNECT_PATH, { "connect-protocol-version": "1" });
}

async function go(): Promise<System> {
  const name = "Go grpc-gateway → Go gRPC";
  if (!isInstalled("go")) return { ...system(name, []), missing: "there is no Go" };
  const folder = join(import.meta.dirname, "go");
  const template = join(folder, "buf.gen.yaml");
  buf("generate", "../../proto", "--path", "../../proto/helloworld", "--template", template);
  execFileSync("go", ["build", "-o", "peer", "."], { cwd: folder, stdio: "inherit" });
  const run = async (role: string, ...args: number[]) => {
    const port = await freePort();
    return { role, command: join(folder, "peer"), args: [role, ...[port, ...args].map(String)], port };
  };
  const service = await run("service");
  return system(name, [service, await run("gateway", service.port)]);
}

function buf(...args: string[]): void {
  const cwd = args[0] === "generate" ? join(import.meta.dirname, "go") : ROOT;
  execFileSync(join(ROOT, "node_modules/.bin/buf"), args, { cwd, stdio: "inherit" });
}

/** In front of the ceiling. */
async function nginx(folder: string, ceiling: System["programs"][number]): Promise<System> {
  const name = "nginx → node:http, plain proxy";
  if (!isInstalled("nginx")) return { ...system(name, []), missing: "there is no nginx (Debian package nginx)" };
  const own = join(folder, "nginx");
  mkdirSync(own);
  const port = await freePort();
  const values: Record<string, string | number> = { folder: own, port, ceiling: ceiling.port };
  const template = readFileSync(join(import.meta.dirname, "systems/nginx.conf"), "utf8");
  const file = join(own, "nginx.conf");
  writeFileSync(
    file,
    template.replace(/\{(\w+)\}/g, (whole, key) => String(values[key] ?? whole)),
  );
  return system(name, [ceiling, { role: "gateway", command: "nginx", args: ["-c", file, "-p", own], port }]);
}
