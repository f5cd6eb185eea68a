// The annotation `google.api.http` of a method: its bindings, and why others are left out.
import { type DescField, type DescMethod, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { readDescriptors } from "../../src/contract/endpoint.js";
import { bindingsOf, onlyReads } from "../../src/contract/http-rule.js";
import { buildAnnotated } from "../support/descriptors.js";

const descriptors = buildAnnotated("test/contract", "annotated.proto");

function methodOf(name: string, set: Uint8Array = descriptors): DescMethod {
  const method = readDescriptors(set)
    .getService("annotated.Annotated")
    ?.methods.find((one) => one.name === name);
  if (method === undefined) throw new Error(`no ${name}`);
  return method;
}

/**
 * `PATCH /patch/{book.author.id} body book [book.author.id]`: the brackets have the names of the
 * fields that were found.
 */
function shown(method: DescMethod, prefix?: string): string[] {
  const name = (field: DescField | "*") => (field === "*" ? "*" : field.name);
  return bindingsOf(method, prefix).bindings.map(({ httpMethod, template, variables, body, responseBody }) =>
    [
      `${httpMethod} ${template.text}`,
      ...(body === undefined ? [] : [`body ${name(body)}`]),
      ...(responseBody === undefined ? [] : [`response ${name(responseBody)}`]),
      ...variables.map((fields) => `[${fields.map(({ name }) => name).join(".")}]`),
    ].join(" "),
  );
}

t.test("a method without the annotation has no bindings", async (t) => {
  t.strictSame(bindingsOf(methodOf("Plain")), { bindings: [], problems: [] });
});

t.test("a method only reads if it is bound to GET", async (t) => {
  t.ok(onlyReads(methodOf("Get")));
  t.notOk(onlyReads(methodOf("Plain")));
});

t.test("a method has the binding of its annotation, and the additional bindings", async (t) => {
  t.strictSame(shown(methodOf("Get")), ["GET /v1/{name=shelves/*} [name]"]);
  t.strictSame(shown(methodOf("All")), [
    "PUT /put body *",
    "POST /post body book",
    "DELETE /delete response books",
    "PATCH /patch/{book.author.id} body book [book.author.id]",
    "HEAD /head",
    "* /any/{when}/{size} [when] [size]",
  ]);
});

t.test("each path begins with the prefix", async (t) => {
  t.strictSame(shown(methodOf("Get"), "/api"), ["GET /api/v1/{name=shelves/*} [name]"]);
});

t.test("several occurrences of an annotation are merged, as for any message field", async (t) => {
  const set = fromBinary(FileDescriptorSetSchema, descriptors);
  const file = set.file.find(({ name }) => name === "annotated.proto");
  const [, , all] = file?.service[0]?.method ?? [];
  const unknown = all?.options?.$unknown;
  if (unknown === undefined) throw new Error("no annotation");
  // An additional binding with `get: "/more"`, encoded with its length.
  unknown.push({
    no: 72295728,
    wireType: 2,
    data: Buffer.concat([Buffer.from([9, 0x5a, 7, 0x12, 5]), Buffer.from("/more")]),
  });
  const split = toBinary(FileDescriptorSetSchema, set);
  t.ok(shown(methodOf("All", split)).includes("GET /more"));
});

t.test("an invalid binding is left out, with the reason; the others stay", async (t) => {
  const method = methodOf("Wrong");
  t.strictSame(shown(method), ["GET /fine"]);
  t.strictSame(bindingsOf(method).problems, [
    "GET /{nothing}: annotated.Request has no field nothing",
    "GET /{book}: the variable book is a message, not a single value",
    "GET /{books}: the variable books is or has a list",
    "GET /{counts}: the variable counts is or has a map",
    "GET /{any}: the variable any is a message, not a single value",
    "GET /{name.first}: the variable name.first goes on after a single value",
    "GET /{books.title}: the variable books.title is or has a list",
    "POST /a: annotated.Request has no field nothing",
    "POST /b: body must name a field of annotated.Request itself, not book.title",
    "POST /c: annotated.Response has no field nothing",
    "POST /d/{name}: the field name is in the path and the body",
    'the template "no-slash" must begin with /',
    'the custom method "A B" is no method of HTTP',
    "a binding has no path",
    "an additional binding has additional bindings of its own",
  ]);
});

t.test("an annotation that is no HttpRule is reported", async (t) => {
  const set = fromBinary(FileDescriptorSetSchema, descriptors);
  const [, get] = set.file.find(({ name }) => name === "annotated.proto")?.service[0]?.method ?? [];
  const unknown = get?.options?.$unknown?.[0];
  if (unknown === undefined) throw new Error("no annotation");
  unknown.data.set([0xff], 1);
  const [problem] = bindingsOf(methodOf("Get", toBinary(FileDescriptorSetSchema, set))).problems;
  t.match(problem, /^the annotation cannot be read: /);
});
