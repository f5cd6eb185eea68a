// Writes spec/: the OpenAPI documents of the services that everyone's Portico has, as its gateway serves them to an
// administrator, and an index of them. Run after every change of a .proto; with --check it writes nothing and fails
// where spec/ is not what it would write.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { register } from "tsx/esm/api";

register();
const { Callers, endpointsOf, readDescriptors } = await import("../src/contract/endpoint.ts");
const { descriptors } = await import("../src/gen/descriptors.ts");
const { openApi } = await import("../gateway/openapi/document.ts");
const { indexEntry } = await import("../gateway/openapi/served.ts");

const FOLDER = "spec";
/** Where a gateway listens unless told otherwise. */
const SERVER = "http://127.0.0.1:8080";
const PACKAGES = { auth: "portico.auth.v1", helloworld: "helloworld", registry: "portico.registry.v1" };

function documents() {
  const types = readDescriptors(descriptors);
  const files = new Map();
  const services = Object.entries(PACKAGES).map(([service, name]) => {
    const own = [...types].filter((type) => type.kind === "service" && type.file.proto.package === name);
    const all = endpointsOf(
      service,
      types,
      own.map(({ typeName }) => typeName),
    );
    const endpoints = all.filter(({ callers }) => callers !== Callers.ENROLLED);
    files.set(`${service}.json`, openApi({ service, endpoints, types, server: SERVER }, 2));
    return indexEntry(service, endpoints, "");
  });
  return files.set("index.json", JSON.stringify({ services }, null, 2));
}

function differing(wanted) {
  const there = new Set(readdirSync(FOLDER));
  const missing = [...wanted.keys()].filter((name) => !there.has(name));
  const stale = [...there].filter((name) => readFileSync(join(FOLDER, name), "utf8") !== `${wanted.get(name)}\n`);
  return [...missing, ...stale].sort();
}

const wanted = documents();
mkdirSync(FOLDER, { recursive: true });
const differ = differing(wanted);
if (process.argv.includes("--check")) {
  if (differ.length > 0) console.error(`spec/ is out of date: ${differ.join(", ")}. Run: npm run spec`);
  process.exitCode = differ.length > 0 ? 1 : 0;
} else {
  for (const name of differ) {
    if (wanted.has(name)) writeFileSync(join(FOLDER, name), `${wanted.get(name)}\n`);
    else rmSync(join(FOLDER, name));
  }
  console.log(differ.length > 0 ? `spec/ written: ${differ.join(", ")}` : "spec/ is up to date");
}
