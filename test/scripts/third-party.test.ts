// What the package contains of others: the build finds it, and fails if something may not be passed
// on, or has no text of its license. The bill of materials is valid CycloneDX.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import t, { type Test } from "tap";
import { temporaryFolder } from "../support/temporary.js";

interface Found {
  readonly parts: readonly { readonly name: string; readonly version?: string; readonly license: string }[];
}
interface ThirdParty {
  thirdParty(metafiles: readonly unknown[], root?: string): Found;
  notices(found: Found): string;
  billOfMaterials(found: Found, manifest: unknown): string;
}

const { thirdParty, notices, billOfMaterials } = (await import(resolve("scripts/third-party.mjs"))) as ThirdParty;
const OWN = { name: "ours", version: "1.0.0", license: "Apache-2.0", description: "Ours." };

/** The file that imports `a`, as esbuild reports it. */
const IMPORTS_A = {
  inputs: {
    "src/main.ts": { imports: [{ path: "node_modules/a/index.js" }, { path: "node:fs", external: true }] },
    "node_modules/a/index.js": { imports: [{ path: "node_modules/a/node_modules/@b/c/index.js" }] },
    "node_modules/a/node_modules/@b/c/index.js": { imports: [] },
  },
};

/** Writes a folder with the packages `a`, `@b/c` in it, and `d`, which is packed and needs `e`. */
function project(t: Test, changes: Readonly<Record<string, string | undefined>> = {}): string {
  const folder = temporaryFolder(t);
  const manifest = (name: string, more = {}) => JSON.stringify({ name, version: "2.0.0", license: "MIT", ...more });
  const files: Record<string, string | undefined> = {
    "package.json": JSON.stringify({ ...OWN, bundleDependencies: ["d"] }),
    "package-lock.json": JSON.stringify({ packages: { "node_modules/a": { integrity: "sha512-AAAA" } } }),
    "node_modules/a/package.json": manifest("a"),
    "node_modules/a/LICENSE": "The license of a",
    "node_modules/a/node_modules/@b/c/package.json": manifest("@b/c"),
    "node_modules/a/node_modules/@b/c/licence.md": "The license of c",
    "node_modules/d/package.json": manifest("d", { dependencies: { e: "*" }, optionalDependencies: { absent: "*" } }),
    "node_modules/d/COPYING": "The license of d",
    "node_modules/e/package.json": manifest("e", { license: "ISC" }),
    "node_modules/e/LICENSE": "The license of e",
    ...changes,
  };
  for (const [file, text] of Object.entries(files)) {
    if (text === undefined) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

t.test("what is bundled and what is packed is found, at any depth", async (t) => {
  const found = thirdParty([IMPORTS_A], project(t));
  const packages = found.parts.filter(({ version }) => version === "2.0.0");
  t.same(
    packages.map(({ name, license }) => `${name} ${license}`),
    ["@b/c MIT", "a MIT", "d MIT", "e ISC"],
  );
  const text = notices(found);
  for (const name of ["a", "c", "d", "e"]) t.match(text, `The license of ${name}`);
  const { dependencies, components } = JSON.parse(billOfMaterials(found, OWN));
  const needs = Object.fromEntries(
    dependencies.map(({ ref, dependsOn }: { ref: string; dependsOn: string[] }) => [ref, dependsOn]),
  );
  t.same(needs["pkg:npm/a@2.0.0"], ["pkg:npm/%40b/c@2.0.0"]);
  t.same(needs["pkg:npm/d@2.0.0"], ["pkg:npm/e@2.0.0"]);
  t.match(needs["pkg:npm/ours@1.0.0"], ["part:Google APIs", "part:Public Sans"]);
  t.match(components.find(({ name }: { name: string }) => name === "a").hashes, [
    { alg: "SHA-512", content: "000000" },
  ]);
});

const REFUSED: Record<string, [Readonly<Record<string, string | undefined>>, RegExp]> = {
  "no text of its license": [
    { "node_modules/a/LICENSE": undefined },
    /^a 2\.0\.0 has no text .* to scripts\/licenses\/a\.txt$/,
  ],
  "an empty text": [{ "node_modules/e/LICENSE": "\n" }, /^e 2\.0\.0 has no text of its license/],
  "a license that was not read": [
    { "node_modules/d/package.json": '{"name":"d","version":"1.0.0","license":"GPL-3.0-only"}' },
    /^d 1\.0\.0 has the license GPL-3\.0-only: /,
  ],
  "no license": [
    { "node_modules/a/package.json": '{"name":"a","version":"1.0.0"}' },
    /^a 1\.0\.0 has no license in its package\.json$/,
  ],
  "a license as an object, as npm once had it": [
    { "node_modules/a/package.json": '{"name":"a","version":"1.0.0","license":{"type":"MIT"}}' },
    /^a 1\.0\.0 has no license in its package\.json$/,
  ],
  "a package that is not installed": [
    { "node_modules/e/package.json": undefined },
    /^node_modules\/d needs e, which is not installed: npm ci$/,
  ],
};

for (const [what, [changes, message]] of Object.entries(REFUSED)) {
  t.test(`${what} is refused`, async (t) => {
    const folder = project(t, changes);
    t.throws(() => thirdParty([IMPORTS_A], folder), { message });
  });
}

t.test("the bill of materials of the build is valid, and has no time or serial number", async (t) => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  const bill = readFileSync("dist/sbom.cdx.json", "utf8");
  t.equal(await validator.validate(bill), null);
  const { components, ...others } = JSON.parse(bill);
  t.notMatch(others, { serialNumber: /./ });
  t.notMatch(others.metadata, { timestamp: /./ });
  const names = new Set(components.map(({ name }: { name: string }) => name));
  for (const name of ["pino", "preact", "llhttp", "SQLite", "Public Sans", "node-gyp-build"])
    t.ok(names.has(name), name);
  t.notOk(names.has("typescript"), "tools of the build are not a part of the package");
  t.not(await validator.validate(bill.replace('"specVersion"', '"version of the specification"')), null);
});
