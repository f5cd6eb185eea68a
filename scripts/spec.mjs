// Writes spec/: the OpenAPI documents of the services that every installation of Portico has, as
// the gateway serves them to an administrator, and an index of the documents. From them it also
// writes src/client/gen/: the services of `portico/client`. Run it after every change of a .proto
// file. With --check it writes nothing, and fails if one of the files is out of date.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { register } from "tsx/esm/api";

register();
const { Callers, endpointsOf, readDescriptors } = await import("../src/contract/endpoint.ts");
const { descriptorsOf } = await import("../src/contract/built-in-files.ts");
const { openApi } = await import("../gateway/openapi/document.ts");
const { indexEntry } = await import("../gateway/openapi/served.ts");
const { BUILT_IN_SERVICES } = await import("../cli/roles/built-in-services.ts");
const { writeCatalogue } = await import("../cli/client/catalogue.ts");

const FOLDERS = ["spec", "src/client/gen"];
/** The default address of a gateway. */
const SERVER = "http://127.0.0.1:8080";
const OTHERS = Object.keys(BUILT_IN_SERVICES).map((name) => [name, name]);
/** The proto package of each service. */
const PACKAGES = [["auth", "portico.auth.v1"], ...OTHERS, ["registry", "portico.registry.v1"]];

/** Texts by path. */
function filesOf() {
  const types = readDescriptors(descriptorsOf());
  const documents = new Map();
  const services = PACKAGES.map(([service, name]) => {
    const own = [...types].filter((type) => type.kind === "service" && type.file.proto.package === name);
    const all = endpointsOf(
      service,
      types,
      own.map(({ typeName }) => typeName),
    );
    const endpoints = all.filter(({ callers }) => callers !== Callers.ENROLLED);
    documents.set(service, openApi({ service, endpoints, types, server: SERVER }, 2));
    return indexEntry(service, endpoints, "");
  });
  const index = `${JSON.stringify({ services }, null, 2)}\n`;
  const spec = Array.from(documents, ([service, text]) => [`spec/${service}.json`, `${text}\n`]);
  const modules = Array.from(writeCatalogue(documents), ([name, text]) => [`src/client/gen/${name}`, text]);
  return new Map([...spec, ["spec/index.json", index], ...modules]);
}

function differing(wanted) {
  const there = FOLDERS.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  const missing = [...wanted.keys()].filter((file) => !there.includes(file));
  const stale = there.filter((file) => readFileSync(file, "utf8") !== wanted.get(file));
  return [...missing, ...stale].sort();
}

const wanted = filesOf();
for (const folder of FOLDERS) mkdirSync(folder, { recursive: true });
const differ = differing(wanted);
if (process.argv.includes("--check")) {
  if (differ.length > 0) console.error(`Out of date: ${differ.join(", ")}. Run: npm run spec`);
  process.exitCode = differ.length > 0 ? 1 : 0;
} else {
  for (const file of differ) {
    if (wanted.has(file)) writeFileSync(file, wanted.get(file));
    else rmSync(file);
  }
  console.log(differ.length > 0 ? `Written: ${differ.join(", ")}` : "All files are up to date");
}
