// A contract is compiled with its comments. Each error in it has a place.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { compileContract, contractFiles, hasCall, serviceNamesOf } from "../../../cli/dev/contract.js";

const buf = resolve("node_modules/.bin/buf");
const greeter = (body: string) => `syntax = "proto3";\npackage greeter.v1;\n${body}\n`;

t.test("returns the descriptors, with comments and the names of services", async (t) => {
  const source = greeter("// Greets.\nservice Greeter {}\nmessage A {}");
  const folder = t.testdir({ proto: { "greeter.proto": source } });
  const compiled = await compileContract(buf, folder);
  if ("problems" in compiled) return t.fail(`${compiled.problems[0]?.message}`);
  t.same(serviceNamesOf(compiled.descriptors), ["greeter"]);
  const locations = compiled.descriptors.file[0]?.sourceCodeInfo?.location ?? [];
  t.same(
    locations.map((one) => one.leadingComments),
    [" Greets.\n"],
  );
});

t.test("finds an endpoint Call, which is called by the service's name alone", async (t) => {
  for (const method of ["Call", "List"]) {
    const source = greeter(`message A {}\nservice Greeter { rpc ${method}(A) returns (A); }`);
    const compiled = await compileContract(buf, t.testdir({ proto: { "greeter.proto": source } }));
    if ("problems" in compiled) return t.fail(`${compiled.problems[0]?.message}`);
    t.equal(hasCall(compiled.descriptors), method === "Call", method);
  }
});

t.test("an additional empty line does not change the contract", async (t) => {
  const folder = t.testdir({ proto: { "greeter.proto": greeter("message A {}") } });
  const before = await compileContract(buf, folder);
  writeFileSync(join(folder, "proto/greeter.proto"), greeter("\n\nmessage A {}"));
  t.same(await compileContract(buf, folder), before);
});

t.test("returns each error with file, line, column and length", async (t) => {
  const folder = t.testdir({
    proto: { "a.proto": greeter("message A {\n  strng b = 1;\n}"), "b.proto": greeter('import "none.proto";') },
  });
  t.same(await compileContract(buf, folder), {
    problems: [
      {
        file: join(folder, "proto/a.proto"),
        line: 4,
        column: 3,
        length: 5,
        message: "cannot find `strng` in this scope",
      },
      { file: join(folder, "proto/b.proto"), line: 3, column: 1, length: 20, message: "imported file does not exist" },
    ],
  });
});

t.test("reports that there is no .proto file", async (t) => {
  const folder = t.testdir({ proto: {} });
  t.match(await compileContract(buf, folder), { problems: [{ message: /had no \.proto files/ }] });
});

const annotated = (binding: string, more = "") => `syntax = "proto3";
package shop.v1;
import "google/api/annotations.proto";
${more}
service Shop {
  rpc Get(Item) returns (Item) {
    option (google.api.http) = {${binding}};
  }
}
message Item {
  string id = 1;
}
`;

t.test("google/api/annotations.proto and httpbody.proto can be imported without being in the project", async (t) => {
  const source = annotated('get: "/items/{id}"', 'import "google/api/httpbody.proto";');
  const folder = t.testdir({ proto: { "shop.proto": source } });
  const compiled = await compileContract(buf, folder);
  if ("problems" in compiled) return t.fail(`${compiled.problems[0]?.message}`);
  t.same(serviceNamesOf(compiled.descriptors), ["shop"]);
  const names = compiled.descriptors.file.map(({ name }) => name);
  t.ok(["google/api/annotations.proto", "google/api/http.proto", "shop.proto"].every((name) => names.includes(name)));
});

t.test("the project's own file takes precedence over Portico's", async (t) => {
  const own = 'syntax = "proto3";\npackage google.api;\nimport "google/protobuf/descriptor.proto";\n';
  const file = `${own}extend google.protobuf.MethodOptions { string http = 50000; }\n`;
  const source = annotated("").replace("{}", '"text"');
  const folder = t.testdir({ proto: { "shop.proto": source, google: { api: { "annotations.proto": file } } } });
  t.notOk("problems" in (await compileContract(buf, folder)));
});

t.test("errors next to annotations have their places in the project", async (t) => {
  const folder = t.testdir({ proto: { "shop.proto": annotated('get: "/items"').replace("string id", "strng id") } });
  t.match(await compileContract(buf, folder), {
    problems: [{ file: join(folder, "proto/shop.proto"), line: 11, message: "cannot find `strng` in this scope" }],
  });
});

t.test("an annotation that cannot be served is an error at its method", async (t) => {
  const folder = t.testdir({ proto: { "shop.proto": annotated('get: "/items/{name}"') } });
  t.same(await compileContract(buf, folder), {
    problems: [
      {
        file: join(folder, "proto/shop.proto"),
        line: 6,
        column: 3,
        message: "Shop.Get: google.api.http: GET /items/{name}: shop.v1.Item has no field name",
      },
    ],
  });
});

t.test("a definition in a new folder changes the files of a contract", async (t) => {
  const folder = t.testdir({ proto: { "a.proto": "" } });
  const before = contractFiles(folder);
  t.equal(contractFiles(folder), before);
  mkdirSync(join(folder, "clients"));
  writeFileSync(join(folder, "clients", "b.binpb"), "");
  t.not(contractFiles(folder), before);
});
