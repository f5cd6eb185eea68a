/**
 * The systems with which Portico is compared. A system that cannot be built or installed here is
 * left out, with a notice.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installEnvoy, tokenFor } from "./envoy.js";
import { freePort, isInstalled } from "./processes.js";
import type { System } from "./systems.js";

const ROOT = join(import.meta.dirname, "..");
const PATH = "/v1/helloworld/call";
/** The endpoint's path in gRPC. */
export const GRPC_PATH = "/helloworld.Helloworld/Call";

type Run = System["programs"][number];

/** @param ceiling node:http with a fixed response */
export async function peers(folder: string, ceiling: Run): Promise<System[]> {
  return [
    await fastify(),
    await moleculer(),
    await connect(folder),
    await goGateway(),
    await rustGateway(),
    await envoy(folder),
    await nginx(folder, ceiling),
  ];
}

function system(name: string, programs: System["programs"], path = PATH, headers = {}): System {
  return { name, programs, path, headers };
}

function leftOut(name: string, missing: string): System {
  return { ...system(name, []), missing };
}

/** A peer's program for Node. Its arguments are its port, followed by `args`. */
export async function peer(role: string, file: string, ...args: unknown[]): Promise<Run> {
  const port = await freePort();
  const script = join(import.meta.dirname, "systems", file);
  return { role, command: process.execPath, args: [script, String(port), ...args.map(String)], port };
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
  const service = await peer("service", "grpc-js-service.js");
  const gateway = await peer("gateway", "connect-gateway.js", service.port, descriptors(folder));
  return system("Connect for Node → grpc-js", [service, gateway], GRPC_PATH, { "connect-protocol-version": "1" });
}

/**
 * Writes the contract of helloworld as a FileDescriptorSet.
 * @returns the file
 */
export function descriptors(folder: string): string {
  const file = join(folder, "helloworld.binpb");
  buf(ROOT, "build", "proto", "--path", "proto/helloworld", "--as-file-descriptor-set", "-o", file);
  return file;
}

function buf(cwd: string, ...args: string[]): void {
  execFileSync(join(ROOT, "node_modules/.bin/buf"), args, { cwd, stdio: "inherit" });
}

const TYPE = "type.googleapis.com/envoy.extensions.filters.http";
/** Filters of Envoy that convert another dialect to gRPC. */
const FILTERS = {
  grpc_web: { name: "envoy.filters.http.grpc_web", typed_config: { "@type": `${TYPE}.grpc_web.v3.GrpcWeb` } },
  connect_grpc_bridge: {
    name: "envoy.filters.http.connect_grpc_bridge",
    typed_config: { "@type": `${TYPE}.connect_grpc_bridge.v3.FilterConfig` },
  },
};
/** The text before each filter in systems/envoy.yaml. */
const FILTER_INDENT = `\n${" ".repeat(18)}`;

const NO_GO = "there is no Go";
const GO = join(import.meta.dirname, "go");
let goIsBuilt = false;

/**
 * Builds the programs in Go once.
 * @returns false if Go is not installed
 */
function buildGo(): boolean {
  if (goIsBuilt) return true;
  if (!isInstalled("go")) return false;
  const template = join(GO, "buf.gen.yaml");
  buf(GO, "generate", "../../proto", "--path", "../../proto/helloworld", "--template", template);
  execFileSync("go", ["build", "-o", "peer", "."], { cwd: GO, stdio: "inherit" });
  goIsBuilt = true;
  return true;
}

async function goProgram(role: string, ...args: number[]): Promise<Run> {
  const port = await freePort();
  return { role, command: join(GO, "peer"), args: [role, ...[port, ...args].map(String)], port };
}

/** The gRPC service in Go behind several gateways. Undefined if Go is not installed. */
export async function goService(): Promise<Run | undefined> {
  return buildGo() ? goProgram("service") : undefined;
}

async function goGateway(): Promise<System> {
  const name = "Go grpc-gateway → Go gRPC";
  const service = await goService();
  if (service === undefined) return leftOut(name, NO_GO);
  return system(name, [service, await goProgram("gateway", service.port)]);
}

/** The only token that the gateway in Rust accepts. It is as long as one of Portico's. */
const TOKEN = "bench".repeat(9);

async function rustGateway(): Promise<System> {
  const name = "Rust by hand → Go gRPC";
  if (!isInstalled("cargo")) return leftOut(name, "there is no Rust (cargo)");
  const service = await goService();
  if (service === undefined) return leftOut(name, NO_GO);
  const folder = join(import.meta.dirname, "rust");
  execFileSync("nice", ["cargo", "build", "--release", "--locked", "--quiet"], { cwd: folder, stdio: "inherit" });
  const port = await freePort();
  const command = join(folder, "target/release/peer");
  const gateway = { role: "gateway", command, args: [port, service.port, TOKEN].map(String), port };
  return system(name, [service, gateway], PATH, { authorization: `Bearer ${TOKEN}` });
}

/**
 * @param contract file of the FileDescriptorSet
 * @param filters additional filters, for dialects other than JSON
 */
export async function envoy(
  folder: string,
  contract = descriptors(folder),
  filters: readonly (keyof typeof FILTERS)[] = [],
): Promise<System> {
  const name = "Envoy → Go gRPC";
  const program = installEnvoy();
  if ("missing" in program) return leftOut(name, program.missing);
  const service = await goService();
  if (service === undefined) return leftOut(name, NO_GO);
  const port = await freePort();
  const { token, keys } = tokenFor("bench");
  const file = join(folder, "envoy.yaml");
  const yaml = filters
    .map((filter) => JSON.stringify(FILTERS[filter]))
    .map((filter) => `- ${filter}`)
    .join(FILTER_INDENT);
  const values = { port, service: service.port, descriptors: contract, keys: JSON.stringify(keys), filters: yaml };
  writeFileSync(file, filledIn("systems/envoy.yaml", values));
  const args = ["-c", file, "--concurrency", "1", "--log-level", "error", "--use-dynamic-base-id"];
  const gateway = { role: "gateway", command: program.command, args, port };
  const headers = { authorization: `Bearer ${token}` };
  return {
    ...system(name, [service, gateway], GRPC_PATH, headers),
    streamPath: "/helloworld.Helloworld/Stream",
    tables: ["streams"],
  };
}

/** nginx in front of the ceiling. */
async function nginx(folder: string, ceiling: Run): Promise<System> {
  const name = "nginx → node:http, plain proxy";
  if (!isInstalled("nginx")) return leftOut(name, "there is no nginx (Debian package nginx)");
  const own = join(folder, "nginx");
  mkdirSync(own);
  const port = await freePort();
  const file = join(own, "nginx.conf");
  writeFileSync(file, filledIn("systems/nginx.conf", { folder: own, port, ceiling: ceiling.port }));
  return system(name, [ceiling, { role: "gateway", command: "nginx", args: ["-c", file, "-p", own], port }]);
}

/** A configuration with its `{name}`s replaced. */
function filledIn(template: string, values: Readonly<Record<string, string | number>>): string {
  const text = readFileSync(join(import.meta.dirname, template), "utf8");
  return text.replace(/\{(\w+)\}/g, (name, key) => String(values[key] ?? name));
}
