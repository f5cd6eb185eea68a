// What the package contains of others: packages that esbuild has bundled, packages that npm packs
// (`bundleDependencies`) with all that they need, and parts that are no packages of npm. The build
// fails if one has a license that was not read, or no text of its license.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Licenses that were read: each allows to pass the part on together with its text. */
export const ALLOWED = new Set([
  ...["MIT", "ISC", "BSD-3-Clause", "Apache-2.0", "BlueOak-1.0.0", "OFL-1.1", "blessing"],
  "Apache-2.0 AND BSD-3-Clause",
]);

/** Texts for packages that contain none, each as its author published it. */
const TEXTS = "scripts/licenses";
const SQLITE = "node_modules/sqlite3/deps/common-sqlite.gypi";

/** Parts that are no packages of npm; `within` is the package that has the part, if one has. */
const PARTS = [
  { name: "llhttp", license: "MIT", texts: [`${TEXTS}/llhttp.txt`], within: "node_modules/undici" },
  { name: "SQLite", license: "blessing", texts: [`${TEXTS}/sqlite.txt`], within: "node_modules/sqlite3" },
  { name: "Public Sans", license: "OFL-1.1", texts: ["gateway/web/fonts/public-sans-license.txt"], within: "" },
  { name: "Google APIs", license: "Apache-2.0", texts: [`${TEXTS}/google-apis.txt`, "LICENSE"], within: "" },
  { name: "gRPC protocols", license: "Apache-2.0", texts: [`${TEXTS}/grpc-protocols.txt`, "LICENSE"], within: "" },
];

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string} [version] if it is known
 * @property {string} license an SPDX expression
 * @property {string} text of the license, and of the notices that must go with it
 * @property {string} folder of a package; otherwise an identifier
 * @property {string} [integrity] of a package, as in package-lock.json
 * @property {Set<string>} needs folders of what it imports or contains
 */

/**
 * @param metafiles of esbuild
 * @param root the folder of package.json, package-lock.json and node_modules
 * @returns {{ parts: Part[], needs: Set<string> }} sorted by name and version, and the folders that
 * Portico's own code imports
 * @throws {Error} if a part has no license, another one than those allowed, or no text
 */
export function thirdParty(metafiles, root = ".") {
  const needs = new Map([["", new Set()]]);
  const need = (from, to) => {
    for (const folder of [from, to]) if (!needs.has(folder)) needs.set(folder, new Set());
    // A package may be given a file of Portico instead of another package.
    if (from !== to && to !== "") needs.get(from).add(to);
  };
  for (const { inputs } of metafiles) {
    for (const [file, { imports }] of Object.entries(inputs)) {
      for (const { path, external } of imports) if (!external) need(folderOf(file), folderOf(path));
    }
  }
  const { bundleDependencies = [] } = manifestOf(root, "");
  const packed = bundleDependencies.map((name) => `node_modules/${name}`);
  for (const folder of packed) need("", folder);
  for (const folder of packed) addNeeded(root, folder, needs, need);
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const { "": own, ...others } = Object.fromEntries(needs);
  const parts = Object.entries(others).map(([folder, needed]) => packageAt(root, folder, needed, packages));
  for (const part of PARTS.filter(({ within }) => needs.has(within)).map(otherPart)) {
    needs.get(part.folder.split("#")[0]).add(part.folder);
    parts.push(part);
  }
  return { parts: parts.sort((a, b) => compare(keyOf(a), keyOf(b))), needs: own };
}

/** Adds what a packed package needs, to any depth. npm packs optional packages if they exist. */
function addNeeded(root, folder, needs, need) {
  const { dependencies = {}, optionalDependencies = {} } = manifestOf(root, folder);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const found = resolvedFrom(root, folder, name);
    if (found === undefined && name in optionalDependencies) continue;
    if (found === undefined) throw new Error(`${folder} needs ${name}, which is not installed: npm ci`);
    const isNew = !needs.has(found);
    need(folder, found);
    if (isNew) addNeeded(root, found, needs, need);
  }
}

/** Where Node finds a package that another one imports. */
function resolvedFrom(root, folder, name) {
  for (let at = folder; ; at = dirname(at)) {
    const candidate = at === "." ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (!at.endsWith("node_modules") && existsSync(join(root, candidate, "package.json"))) return candidate;
    if (at === ".") return undefined;
  }
}

/** The folder of the package to which a file belongs; empty for Portico's own files. */
function folderOf(file) {
  return /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? "";
}

function manifestOf(root, folder) {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}

function packageAt(root, folder, needs, locked) {
  const { name, version, license } = manifestOf(root, folder);
  const readable = typeof license === "string" ? license.replace(/^\((.*)\)$/, "$1") : undefined;
  const text = licenseText(root, folder, name);
  return checked({ name, version, license: readable, text, folder, needs, integrity: locked[folder]?.integrity });
}

function licenseText(root, folder, name) {
  const files = readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^(?:licen[cs]e|copying|notice)/i.test(entry.name))
    .map((entry) => join(root, folder, entry.name))
    .sort();
  const found = files.length > 0 ? files : [`${TEXTS}/${name}.txt`].filter((file) => existsSync(file));
  return found.map(textOf).join("\n\n");
}

function otherPart({ name, license, texts, within }) {
  const version = name === "SQLite" ? sqliteVersion() : undefined;
  const text = texts.map(textOf).join("\n\n");
  return checked({ name, version, license, text, folder: `${within}#${name}`, needs: new Set() });
}

/** Such as 3.52.0, which the package writes as 3520000. */
function sqliteVersion() {
  const [, major, minor, patch] = /'sqlite_version%':'(\d)(\d\d)(\d\d)\d\d'/.exec(readFileSync(SQLITE, "utf8"));
  return [major, minor, patch].map(Number).join(".");
}

function textOf(file) {
  return readFileSync(file, "utf8").replace(/\r\n/g, "\n").trim();
}

function checked(part) {
  const { name, version = "", license, text } = part;
  if (license === undefined) throw new Error(`${name} ${version} has no license in its package.json`);
  if (!ALLOWED.has(license)) {
    throw new Error(
      `${name} ${version} has the license ${license}: if it may be passed on, allow it in third-party.mjs`,
    );
  }
  if (text === "") {
    throw new Error(
      `${name} ${version} has no text of its license: write the one of its author to ${TEXTS}/${name}.txt`,
    );
  }
  return part;
}

/** The texts of all licenses, each once. */
export function notices({ parts }) {
  const byText = new Map();
  for (const part of parts) byText.set(part.text, [...(byText.get(part.text) ?? []), part]);
  const sections = [...byText].map(([text, same]) => {
    const names = same.map(({ name, version, license }) => `${[name, version].filter(Boolean).join(" ")} (${license})`);
    return `${RULE}\n${[...new Set(names)].join("\n")}\n${RULE}\n\n${text}\n`;
  });
  return [HEAD, ...sections].join("\n");
}

const RULE = "-".repeat(80);
const HEAD = `Portico contains the following parts of others, under these licenses.
sbom.cdx.json, beside this file, has them in a form for programs.
`;

/**
 * The software bill of materials: CycloneDX 1.6. It has neither a time nor a serial number, so two
 * builds of the same sources are equal.
 */
export function billOfMaterials({ parts, needs }, { name, version, license, description }) {
  const root = `pkg:npm/${name}@${version}`;
  const refs = new Map(parts.map((part) => [part.folder, refOf(part)]));
  const dependency = (ref, folders) => ({
    ref,
    dependsOn: [...new Set([...folders].map((at) => refs.get(at)))].sort(),
  });
  // The same version may be installed in two folders.
  const components = new Map(parts.map((part) => [refOf(part), componentOf(part)]));
  const dependencies = new Map(parts.map((part) => [refOf(part), dependency(refOf(part), part.needs)]));
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: { type: "application", "bom-ref": root, name, version, description, ...licensed(license), purl: root },
    },
    components: [...components.values()],
    dependencies: [dependency(root, needs), ...dependencies.values()],
  };
  return `${JSON.stringify(bill, null, 1)}\n`;
}

function componentOf(part) {
  const { name, version, license, folder, integrity } = part;
  const [, group, plain] = /^(?:(@[^/]+)\/)?(.+)$/.exec(name);
  const purl = folder.includes("#") ? {} : { purl: refOf(part) };
  const content = integrity?.startsWith("sha512-")
    ? [{ alg: "SHA-512", content: Buffer.from(integrity.slice(7), "base64").toString("hex") }]
    : [];
  return {
    type: "library",
    "bom-ref": refOf(part),
    ...(group === undefined ? {} : { group }),
    name: plain,
    ...(version === undefined ? {} : { version }),
    ...(content.length === 0 ? {} : { hashes: content }),
    ...licensed(license),
    ...purl,
  };
}

function licensed(license) {
  return { licenses: [license.includes(" ") ? { expression: license } : { license: { id: license } }] };
}

/** A package URL (purl), or a name for what is no package. */
function refOf({ name, version, folder }) {
  if (folder.includes("#")) return `part:${name}`;
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function keyOf({ name, version = "", folder }) {
  return `${name}\0${version}\0${folder}`;
}

/** The order of code units: the same in every locale. */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
