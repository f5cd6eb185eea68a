/**
 * The systems that are measured: the processes of each, and the call to which all of them give the
 * same response.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerTo, BODIES } from "./bodies.js";
import { descriptors, goService, peer, peers } from "./peers.js";
import { copy, type Installation, install, PORTICO } from "./portico-data.js";
import { freePort, type Program } from "./processes.js";

export interface System {
  readonly name: string;
  /** Why the system cannot be measured here. */
  readonly missing?: string;
  /**
   * The tables with this system, in addition to the tables of single calls. `variant`: of single
   * calls, only 15 B with 64 connections (MAIN_POINT of calls.ts) is measured. `connections`: from
   * 16 to 2,048 connections. `workers`: a body that is refused. `streams`: streams of responses.
   * Not set: only the tables of single calls.
   */
  readonly tables?: readonly ("variant" | "connections" | "workers" | "streams")[];
  /**
   * The programs of the system: first those behind the gateway, last the one that callers connect
   * to.
   */
  readonly programs: readonly (Program & { readonly port: number })[];
  readonly path: string;
  /** The path of the endpoint that responds with a stream. */
  readonly streamPath?: string;
  readonly headers: Readonly<Record<string, string>>;
}

const ROOT = join(import.meta.dirname, "..");
const PATH = "/v1/helloworld/call";

/**
 * Builds what must be built, and returns every system. `folder` is for the files of the systems.
 */
export async function prepare(folder: string): Promise<System[]> {
  const portico = await buildAndInstall(folder);
  const responses = join(folder, "answers.json");
  writeFileSync(
    responses,
    JSON.stringify(Object.fromEntries(BODIES.map(({ request }) => [request.length, answerTo(request)]))),
  );
  const ceiling = await peer("service", "ceiling.js", responses);
  return [
    { name: "node:http, fixed answer", programs: [ceiling], path: PATH, headers: {}, tables: ["connections"] },
    { name: "node:http by hand", programs: [await peer("service", "by-hand.js")], path: PATH, headers: {} },
    { ...(await inProcess("Portico in process", await copy(portico))), tables: ["connections", "streams"] },
    { ...(await inProcess("Portico in process, 100,000 rules", await copy(portico, 99_990))), tables: ["variant"] },
    { ...(await inProcess("Portico in process, access log on", await copy(portico), "info")), tables: ["variant"] },
    {
      ...(await mesh("Portico mesh, http2 → http2", await copy(portico), "http2", "http2")),
      tables: ["connections", "workers", "streams"],
    },
    {
      ...(await mesh("Portico mesh, http2 → http2, 2 workers", await copy(portico), "http2", "http2", 2)),
      tables: ["variant", "workers"],
    },
    await mesh("Portico mesh, http2 → grpc-js", await copy(portico), "http2", "grpc-js"),
    await mesh("Portico mesh, grpc-js → grpc-js", await copy(portico), "grpc-js", "grpc-js"),
    await meshBeforeGo("Portico mesh → Go gRPC", await copy(portico)),
    {
      ...(await meshBeforeGo("Portico mesh → Go gRPC, five services", await copy(portico), { services: 5 })),
      tables: ["variant"],
    },
    ...(await peers(folder, ceiling)),
  ];
}

/** Builds Portico, and creates an installation in `folder`. */
export async function buildAndInstall(folder: string): Promise<Installation> {
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: ROOT, stdio: "inherit" });
  return install(join(folder, "portico"));
}

export async function role(name: string, args: string[], env: Record<string, string>) {
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
    args: ["--max-semi-space-size=32", "--initial-old-space-size=64", PORTICO, ...args], // The flags in docs/deploying.md.
    env: { PORTICO_LOG_LEVEL: "warn", PORTICO_MAX_RULES: "100000", ...addresses, ...env },
    port,
  };
}

export async function inProcess(name: string, { folder, token }: Installation, logLevel = "warn"): Promise<System> {
  const server = await role("gateway", ["server"], { PORTICO_DATA: folder, PORTICO_LOG_LEVEL: logLevel });
  return system(name, [server], token);
}

/**
 * @param client how the gateway calls.
 * @param server how the service is served.
 */
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
  return system(name, [authority, service, gateway], token);
}

/**
 * A mesh with the service that is also behind grpc-gateway, Envoy and the gateway in Rust.
 * @param contract file of the FileDescriptorSet
 * @param services how many services without options the gateway has, all of one server
 */
export async function meshBeforeGo(
  name: string,
  { folder, token }: Installation,
  { contract = descriptors(folder), services = 1 }: { contract?: string; services?: number } = {},
): Promise<System> {
  const service = await goService();
  if (service === undefined) return { ...system(name, [], token), missing: "there is no Go" };
  const target = `127.0.0.1:${service.port}`;
  const entries = Array.from({ length: services }, (_, index) => {
    return { name: `helloworld${index || ""}`, target, descriptors: contract };
  });
  writeFileSync(join(folder, "portico.json"), JSON.stringify({ services: entries }));
  const data = { PORTICO_DATA: folder };
  const authority = await role("authority", ["authority"], data);
  const gateway = await role("gateway", ["gateway"], { ...data, PORTICO_AUTHORITY: `127.0.0.1:${authority.port}` });
  return { ...system(name, [authority, service, gateway], token), tables: ["streams"] };
}

function system(name: string, programs: System["programs"], token: string): System {
  const headers = { authorization: `Bearer ${token}` };
  return { name, programs, path: PATH, streamPath: "/v1/helloworld/stream", headers };
}
