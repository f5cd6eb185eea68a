// The annotations of Google's own APIs (npm's google-proto-files). Each is served without a
// problem, and found at its path. The test runs a sample; `npm run test:full` runs all of them.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DescMethod } from "@bufbuild/protobuf";
import t from "tap";
import { PathTrie, type TemplateEntry } from "../../../../gateway/catalog/path-trie.js";
import { openApi } from "../../../../gateway/openapi/document.js";
import { endpointsOf, readDescriptors } from "../../../../src/contract/endpoint.js";
import { type Binding, bindingsOf } from "../../../../src/contract/http-rule.js";
import { ONE, valuesOf } from "../../../../src/contract/path-template.js";
import { part, type Service } from "../../../../src/rpc/service.js";
import { npmPackages } from "../../../outside/tools.js";
import { BYTES } from "../../../rpc/raw-service.js";
import { FULL } from "../../../support/full.js";
import { ask, deploy, login } from "../../deployment.js";

t.setTimeout(600_000);

const root = join(npmPackages("google-proto-files@6.0.1"), "node_modules/google-proto-files");
const annotated = readdirSync(join(root, "google"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".proto"))
  .map((name) => join("google", name))
  .filter((name) => readFileSync(join(root, name), "utf8").includes("(google.api.http)"))
  .sort();

const SHOWN = [
  "google/pubsub/v1/pubsub.proto",
  "google/longrunning/operations.proto",
  "google/example/library/v1/library.proto",
  "google/firestore/v1/firestore.proto",
  "google/logging/v2/logging.proto",
];
const files = FULL ? annotated : [...SHOWN, ...annotated.filter((_, index) => index % 100 === 0)];

function compile(names: readonly string[]): Buffer {
  const args = ["alpha", "protoc", "-I", root, "--include_imports", "--descriptor_set_out=/dev/stdout"];
  return execFileSync("node_modules/.bin/buf", [...args, ...names.map((name) => join(root, name))], {
    maxBuffer: 2 ** 28,
  });
}

/** A path that a binding matches, and the values of its variables in that path. */
function exampleOf({ template }: Binding): { readonly path: string; readonly values: readonly string[] } {
  const parts = template.segments.map((segment) =>
    typeof segment === "string" ? segment : segment === ONE ? "1" : "x/y",
  );
  const verb = template.verb === "" ? "" : `:${template.verb}`;
  return {
    path: `/${parts.join("/")}${verb}`,
    values: template.variables.map(({ start, end }) => parts.slice(start, end).join("/")),
  };
}

function checkMethod(method: DescMethod): void {
  const name = `${method.parent.typeName}.${method.name}`;
  const { bindings, problems } = bindingsOf(method);
  if (problems.length > 0) t.fail(`${name}: ${problems}`);
  for (const binding of bindings) {
    const trie = new PathTrie<TemplateEntry>(() => false);
    trie.add(binding);
    const { path, values } = exampleOf(binding);
    const match = trie.find(binding.httpMethod, path);
    t.strictSame(match && valuesOf(binding.template, match.parts), values, `${name}: ${path}`);
  }
}

for (let at = 0; at < files.length; at += 50) {
  const batch = files.slice(at, at + 50);
  t.test(`${batch[0]} and ${batch.length - 1} more`, async (t) => {
    const types = readDescriptors(compile(batch));
    const services = [...types].flatMap((type) => (type.kind === "service" ? [type] : []));
    for (const service of services) for (const method of service.methods) checkMethod(method);
    for (const { typeName } of services) {
      const endpoints = endpointsOf("google", types, [typeName]);
      if (endpoints.length > 0) openApi({ service: "google", endpoints, types, server: "/" });
    }
    t.ok(services.length > 0);
  });
}

t.test("the library and Pub/Sub respond at their paths", async (t) => {
  const names = [
    "google.example.library.v1.LibraryService",
    "google.pubsub.v1.Publisher",
    "google.pubsub.v1.Subscriber",
  ];
  const descriptors = compile(SHOWN.slice(0, 3));
  const types = readDescriptors(descriptors);
  const methods = names.flatMap((name) => types.getService(name)?.methods ?? []);
  const parts = names.map((name) => {
    const own = methods.filter(({ parent, methodKind }) => parent.typeName === name && methodKind === "unary");
    const definition = Object.fromEntries(
      own.map(
        (one) =>
          [
            one.localName,
            { path: `/${name}/${one.name}`, requestStream: false, responseStream: false, ...BYTES },
          ] as const,
      ),
    );
    return part(
      definition as never,
      Object.fromEntries(own.map((one) => [one.localName, () => Buffer.alloc(0)])) as never,
    );
  });
  const service: Service = { name: "google", descriptors, parts, bindingPrefix: "/api" };
  const { handler, close } = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [service] });
  t.teardown(close);
  const headers = ["Content-Type", "application/json", "Authorization", `Bearer ${await login(handler, "admin")}`];
  for (const method of methods.filter(({ methodKind }) => methodKind === "unary")) {
    for (const binding of bindingsOf(method, "/api").bindings) {
      const { path } = exampleOf(binding);
      const body = binding.body === undefined ? undefined : "{}";
      const response = await ask(handler, { method: binding.httpMethod, target: path, headers, body });
      t.equal(response.status, 200, `${binding.httpMethod} ${path}: ${response.body}`);
    }
  }
});
