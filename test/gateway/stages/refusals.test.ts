// Why a call over a socket is refused, as the gateway records it.
import t from "tap";
import type { RefusedRequest } from "../../../gateway/stages/options.js";
import { createToken } from "../../../src/call/token.js";
import type { ExternalService } from "../../../src/config/configured-services.js";
import { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { rawService } from "../../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../../rpc/serve.js";
import { deferred } from "../../support/deferred.js";
import { temporaryFolder } from "../../support/temporary.js";
import { ADMIN_PASSWORD, deploy } from "../deployment.js";

const recorded: RefusedRequest[] = [];
/** The service `full` serves one call at a time, and this one waits. */
const waiting = deferred();
const began = deferred();
const one = async () => {
  began.resolve();
  await waiting.promise;
  return Buffer.alloc(0);
};
const full = await serveHttp2(dispatcherOf([rawService({ one })]), { host: "127.0.0.1", port: 0 }, LIMITS);
t.teardown(() => full.close(0));
const external: ExternalService = {
  name: "full",
  targets: [{ target: { host: "127.0.0.1", port: full.address.port }, weight: 1 }],
  descriptors: Buffer.from(rawService({}).descriptors),
  options: ServiceOptions.fromPartial({ maxConcurrent: 1 }),
};
/** For whom each call is counted: account, key and namespace of a refused caller. */
const counted: string[] = [];
const { gateway, close } = await deploy(temporaryFolder(t), {
  refusals: { record: (one) => recorded.push(one) },
  external: [external],
  usage: {
    record: (_endpoint, namespace, _requested, status, _seconds, caller, refused) =>
      counted.push([status, caller?.account ?? refused?.account, refused?.key, namespace].join(" ")),
  },
});
t.teardown(close);
const { port } = gateway.address;

async function post(path: string, body: unknown, token?: string, headers: Record<string, string> = {}) {
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...authorization, ...headers },
    body: JSON.stringify(body),
  });
  const requestId = response.headers.get("x-request-id");
  return { status: response.status, body: (await response.json()) as Record<string, unknown>, requestId };
}

const login = async (account: string) =>
  (await post("/auth/Auth/Login", { account, password: ADMIN_PASSWORD })).body.accessToken as string;
const admin = await login("admin");
await post("/v1/auth/Accounts/Create", { name: "bob", password: ADMIN_PASSWORD, scopes: ["staff"] }, admin);
const bob = await login("bob");
const keyOf = async (name: string, resources: string[] = []) =>
  (await post("/v1/auth/Keys/Create", { name, resources }, bob)).body as unknown as {
    secret: string;
    key: { prefix: string };
  };
const rule = (id: string, scope: string, access: string, priority = 0) =>
  post("/v1/auth/Rules/Create", { rule: { id, scope, access, resource: "service:helloworld:*", priority } }, admin);

/** Calls helloworld, and returns what the gateway recorded. */
async function refusedCall(token?: string, path = "/helloworld/call", headers: Record<string, string> = {}) {
  recorded.length = 0;
  const { status, requestId } = await post(
    path,
    path === "/full/one" ? {} : { name: "secret argument" },
    token,
    headers,
  );
  t.equal(recorded.length, 1);
  const [one] = recorded;
  t.match(one, { status, requestId, address: "127.0.0.1" });
  t.notMatch(JSON.stringify(recorded), /secret argument|pt[aekr]_\w{20}/);
  return one?.refused;
}

const deploying = await keyOf("deploy", ["service:probe:*"]);
const revoked = await keyOf("old");

t.test("each reason", async (t) => {
  t.equal((await post("/helloworld/call", { name: "Ada" }, bob)).status, 200);
  t.same(recorded, [], "a granted call is not recorded");

  const first = post("/full/one", {}, bob);
  await began.promise;
  t.match(await refusedCall(bob, "/full/one"), { reason: "OVERLOAD", account: "bob", cause: "" });
  t.match(recorded, [{ endpoint: "full:Raw.One", status: 503 }]);
  waiting.resolve();
  t.equal((await first).status, 200);
  const elsewhere = { "Platform-Namespace": "other" };
  // In the namespace of the token: in the other one, an account of the same name is another.
  const other = { reason: "OTHER_TOKEN", namespace: "default", account: "bob", key: "" };
  t.match(await refusedCall(bob, "/helloworld/call", elsewhere), other);

  const limited = { account: "bob", key: deploying.key.prefix, reason: "LIMIT", cause: "deploy" };
  t.match(await refusedCall(deploying.secret), limited);
  t.match(await refusedCall(undefined, "/v1/helloworld/Helloworld/Call"), { reason: "NO_TOKEN", account: "", key: "" });

  await rule("closed", "staff", "DENIED", 5);
  t.match(await refusedCall(bob), { reason: "RULE", cause: "closed", account: "bob", key: "" });

  await post("/v1/auth/Rules/Delete", { id: "default" }, admin);
  t.match(await refusedCall(), { reason: "NO_RULE", account: "", namespace: "default" });
  await post("/v1/auth/Rules/Delete", { id: "closed" }, admin);
  t.match(await refusedCall(bob), { reason: "NO_RULE", account: "bob" });

  const madeUp = createToken("key");
  t.match(await refusedCall(madeUp), { reason: "UNKNOWN_TOKEN", account: "", key: madeUp.slice(0, 10) });
  t.match(await refusedCall("no token at all"), { reason: "UNKNOWN_TOKEN", key: "" });

  await post("/v1/auth/Keys/Revoke", { prefix: revoked.key.prefix }, bob);
  t.match(await refusedCall(revoked.secret), { reason: "REVOKED", account: "bob", key: revoked.key.prefix });

  t.match(await refusedCall(bob, "/v1/auth/Accounts/List"), { reason: "DECLARATION", account: "bob" });
  t.match(await refusedCall(undefined, "/auth/Accounts/List"), { reason: "NO_TOKEN" });
});

t.test("a refused call counts for its account and key, and an unknown token for no account", async (t) => {
  const countedAs = async (token?: string, path = "/v1/helloworld/Helloworld/Call") => {
    counted.length = 0;
    await post(path, { name: "Ada" }, token, { "Platform-Namespace": "other" });
    return counted.join();
  };
  t.equal(await countedAs(bob), "401 bob  default", "no rule grants it");
  await rule("staff", "staff", "GRANTED");
  t.equal(await countedAs(deploying.secret), `403 bob ${deploying.key.prefix} default`);
  t.equal(await countedAs(revoked.secret), `401 bob ${revoked.key.prefix} default`);
  t.equal(await countedAs(revoked.secret, "/helloworld/call"), `401 bob ${revoked.key.prefix} default`);
  t.equal(await countedAs(createToken("key")), "401   ");
  t.equal(await countedAs(), "401   ");
  t.equal(await countedAs(bob, "/helloworld/call"), "401   ", "a token of another namespace is none of this one");
});

t.test("a refusal by a service", async (t) => {
  recorded.length = 0;
  const { status } = await post("/auth/Auth/Login", { account: "bob", password: "a wrong password" });
  t.match(recorded, [{ endpoint: "auth:Auth.Login", status, refused: { reason: "SERVICE", account: "" } }]);
});
