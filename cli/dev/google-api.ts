/**
 * The files of google/api/ that are part of Portico: annotations.proto, http.proto and
 * httpbody.proto. A service may import them without having them in its own folder `proto`, and
 * without a network.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFolder } from "../terminal/package-folder.js";

/** The name of the service's folder `proto` in the workspace. */
export const SERVICE_MODULE = "service";

const IMPORT = /^\s*import\s+(?:public\s+|weak\s+)?"(google\/api\/(?:annotations|http|httpbody)\.proto)"/gm;
/** In a project with one of these files, buf itself knows where to find imports. */
const OWN_CONFIG = ["buf.yaml", "buf.work.yaml", "proto/buf.yaml"] as const;

/**
 * Whether the .proto files of a service import files of google/api/ that the service does not have.
 */
export function lacksGoogleApi(folder: string): boolean {
  if (OWN_CONFIG.some((name) => existsSync(join(folder, name)))) return false;
  const proto = join(folder, "proto");
  const files = readdirSync(proto, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".proto"));
  return files.some((name) =>
    [...readFileSync(join(proto, name), "utf8").matchAll(IMPORT)].some(
      ([, imported = ""]) => !existsSync(join(proto, imported)),
    ),
  );
}

/**
 * Creates a buf workspace with the service's folder `proto` and Portico's files of google/api/,
 * runs `use` in it, and removes it.
 */
export async function inWorkspace<T>(folder: string, use: (workspace: string) => Promise<T>): Promise<T> {
  const workspace = mkdtempSync(join(tmpdir(), "portico-proto-"));
  try {
    const modules = [{ path: SERVICE_MODULE }, { path: "portico" }];
    writeFileSync(join(workspace, "buf.yaml"), JSON.stringify({ version: "v2", modules }));
    symlinkSync(join(folder, "proto"), join(workspace, SERVICE_MODULE));
    mkdirSync(join(workspace, "portico/google"), { recursive: true });
    symlinkSync(join(packageFolder(), "proto/google/api"), join(workspace, "portico/google/api"));
    return await use(workspace);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}
