// Prepares the folder for `npm pack`: builds, and gives the files of the package the modes that
// they have everywhere. npm packs modes as they are, and they depend on the umask of whoever cloned
// and installed.
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.mjs";
import { thirdParty } from "./third-party.mjs";

await build();
const { files } = JSON.parse(readFileSync("package.json", "utf8"));
const folders = files.filter((file) => !file.startsWith("!"));
for (const file of ["package.json", "README.md", "LICENSE"]) setMode(file);
for (const folder of [...folders, ...packedPackages()]) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) setMode(join(entry.parentPath ?? entry.path, entry.name));
  }
}

/** The folders of the packages that npm packs. */
function packedPackages() {
  return thirdParty([]).parts.flatMap(({ folder }) => (folder.includes("#") ? [] : [folder]));
}

function setMode(file) {
  const { mode } = statSync(file);
  const wanted = mode & 0o100 ? 0o755 : 0o644;
  if ((mode & 0o777) !== wanted) chmodSync(file, wanted);
}
