// Each endpoint of a built-in service declares whether a call is destructive. The API pages ask the
// user before such a call.
import { hasExtension } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { Callers, endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";

const types = readDescriptors(descriptorsOf());
const option = types.getExtension("portico.options.v1.destructive")!;
const all = Object.entries({ auth: "portico.auth.v1", registry: "portico.registry.v1" }).flatMap(([service, name]) => {
  const own = [...types].filter((type) => type.kind === "service" && type.file.proto.package === name);
  return endpointsOf(
    service,
    types,
    own.map(({ typeName }) => typeName),
  );
});
const reached = all.filter(({ callers }) => callers !== Callers.ENROLLED);
const declares = ({ method }: (typeof all)[number]): boolean =>
  method.proto.options !== undefined && hasExtension(method.proto.options, option);
const isFree = ({ method }: (typeof all)[number]): boolean =>
  method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;

t.test("each built-in endpoint is free of side effects, or declares whether it is destructive", async (t) => {
  t.ok(reached.length > 20);
  for (const endpoint of reached) t.equal(declares(endpoint), !isFree(endpoint), endpoint.name);
});

t.test("an endpoint that declares nothing counts as destructive", async (t) => {
  const silent = all.filter((endpoint) => !declares(endpoint) && !isFree(endpoint));
  t.ok(silent.length > 0);
  for (const { name, destructive } of silent) t.equal(destructive, true, name);
});

t.test("built-in endpoints that delete or replace data are declared destructive", async (t) => {
  const destructive = reached.filter((endpoint) => endpoint.destructive).map(({ name }) => name);
  for (const name of [
    "auth:Rules.Delete",
    "auth:Enrolments.Create",
    "auth:Keys.Revoke",
    "auth:Keys.Rotate",
    "auth:Accounts.SetPassword",
  ]) {
    t.ok(destructive.includes(name), name);
  }
});
