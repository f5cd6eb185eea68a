/**
 * The responses of a running Portico have the types in src/api/types.ts: no field is missing, and
 * there is no other field. The compiler checks each response as an object literal.
 */
import t from "tap";
import ts from "typescript";
import { start } from "../support/process.js";

const PASSWORD = "correct horse battery";

t.test("every response has the type of its endpoint", async (t) => {
  const portico = await start(["server"], { PORTICO_DATA: t.testdir(), PORTICO_ADMIN_PASSWORD: PASSWORD });
  t.teardown(() => portico.stop());
  const origin = portico.address("HTTP");
  const responses: [path: string, message: unknown][] = [];
  let token: string | undefined;
  const call = async (path: string, request: object = {}) => {
    const response = await fetch(`${origin}${token === undefined ? "" : "/v1"}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(request),
    });
    const message = (await response.json()) as Record<string, unknown>;
    t.equal(response.status, 200, path);
    responses.push([path, message]);
    return message;
  };
  const credentials = { account: "admin", password: PASSWORD };
  const { refreshToken } = await call("auth/Auth/Login", credentials);
  token = String((await call("auth/Auth/Refresh", { refreshToken })).accessToken);

  const bob = { name: "bob", password: PASSWORD, scopes: ["staff"] };
  await call("auth/Accounts/Create", bob);
  await call("auth/Accounts/SetScopes", { name: "bob", scopes: [] });
  await call("auth/Accounts/SetDisabled", { name: "bob", disabled: true });
  await call("auth/Accounts/SetPassword", { name: "bob", newPassword: PASSWORD });
  await call("auth/Accounts/List");
  await call("auth/Accounts/Delete", { name: "bob" });
  await call("auth/Keys/Create", { name: "nightly" });
  const { key } = (await call("auth/Keys/Create", { name: "daily", resources: ["*:*:*"] })) as Message<{
    prefix: string;
  }>;
  await call("auth/Keys/Rotate", { prefix: key?.prefix, overlap: "60s" });
  await call("auth/Keys/List");
  await call("auth/Keys/Revoke", { prefix: key?.prefix });
  await call("auth/Namespaces/Create", { name: "staging" });
  await call("auth/Namespaces/List");
  await call("auth/Namespaces/Delete", { name: "staging" });
  const { enrolment } = (await call("auth/Enrolments/Create", { name: "shop" })) as Message<{ id: string }>;
  await call("auth/Enrolments/List");
  await call("auth/Enrolments/Delete", { name: "shop", id: enrolment?.id });
  const rule = { id: "staff", scope: "staff", access: "GRANTED", resource: "*:*:*" };
  await call("auth/Rules/Create", { rule });
  await call("auth/Rules/List");
  const resource = "service:helloworld:Helloworld.Call";
  await call("auth/Rules/Explain", { resource });
  await call("auth/Rules/Preview", { delete: "default", resources: [resource] });
  await call("auth/Rules/Delete", { id: "default" });
  await call("auth/Rules/Explain", { resource });
  await call("auth/Usage/List", { span: "3600s" });
  await call("auth/Refusals/List", { span: "3600s" });
  await call("auth/Refusals/Find", { requestId: "unknown" });
  await call("auth/Audit/List", { limit: 1000 });
  await call("registry/Registry/List");
  await call("registry/Registry/Describe", { service: "helloworld" });
  await call("auth/Auth/WhoAmI");
  await call("auth/Auth/Logout");

  t.same(typeErrorsOf(responses), []);
  t.test("a response with another type is found", async (t) => {
    const { scopes, ...missing } = bob;
    const wrong = [missing, { ...bob, created: "2026-01-31T12:00:00Z" }, { name: "bob", scopes, created: 0 }];
    const errors = typeErrorsOf(wrong.map((response) => ["auth/Accounts/Create", response]));
    t.equal(errors.length, wrong.length, errors.join("\n"));
  });
});

type Message<Part> = Readonly<Record<string, Part | undefined>>;

/** The compiler's errors for responses that do not have their types. */
function typeErrorsOf(responses: readonly (readonly [path: string, message: unknown])[]): string[] {
  const file = "test/api/responses.ts";
  const lines = responses.map(
    ([path, response]) => `({ a: ${JSON.stringify(response)} }) satisfies { a: E["${path}"]["response"] };`,
  );
  const text = ['import type { Endpoints as E } from "../../src/api/types.js";', ...lines].join("\n");
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: [],
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest);
  const program = ts.createProgram([file], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ messageText, start = 0 }) =>
        `${responses[text.slice(0, start).split("\n").length - 2]?.[0]}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    );
}
