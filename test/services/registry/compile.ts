/** Compiles .proto files that are given as text, with the buf of this repository. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * A google.protobuf.FileDescriptorSet of the files, with comments.
 * @param folder a new, empty folder
 */
export function compile(folder: string, files: Readonly<Record<string, string>>): Buffer {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return execFileSync(join("node_modules", ".bin", "buf"), ["build", folder, "--as-file-descriptor-set", "-o", "-"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}
