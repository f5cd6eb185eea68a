// A JWT that one authority verifies while another deletes its trust: it does not count, although
// the first one does not know of the deletion when it has verified the JWT.
import { exportJWK } from "jose";
import t from "tap";
import { SYSTEM } from "../../src/access/guard.js";
import { PolicyService } from "../../src/gen/portico/auth/v1/policy.js";
import { TrustsService } from "../../src/gen/portico/auth/v1/trusts.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { openIssuer, type TestIssuer } from "../oauth/issuer.js";
import { isGood, open } from "../services/auth/open.js";
import { deferred } from "../support/deferred.js";
import { openMemoryStore } from "../support/memory-store.js";
import { until } from "../support/until.js";
import { AUDIENCE, tokensOfOne } from "./tokens-of-one.js";

/** The store as an authority has it that is told nothing about the writes of others until later. */
function withLateNews(store: KeyValueStore): { store: KeyValueStore; tell: () => void } {
  const listeners = new Set<() => void>();
  let isLate = true;
  const follow: KeyValueStore["follow"] = (topic, listener) => {
    listeners.add(listener);
    return store.follow(topic, () => isLate || listener());
  };
  const tell = (): void => {
    isLate = false;
    for (const listener of listeners) listener();
  };
  return { store: { ...store, follow }, tell };
}

/** The issuer gives its keys only when it is released. */
function holdKeys(issuer: TestIssuer): { asked: Promise<void>; release: () => void } {
  const [asked, released] = [deferred<void>(), deferred<void>()];
  const { url, published } = issuer;
  const { kid, alg, publicKey } = published[0]!;
  const urls = { authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` };
  issuer.respond = async (path, response) => {
    let value: unknown = { issuer: url, jwks_uri: `${url}/keys`, ...urls };
    if (path === "/keys") {
      asked.resolve();
      await released.promise;
      value = { keys: [{ ...(await exportJWK(publicKey)), kid, alg }] };
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
  return { asked: asked.promise, release: () => released.resolve() };
}

t.test("a JWT that is verified while its trust is deleted does not count", async (t) => {
  const shared = openMemoryStore({ mayBeStale: true, time: Date.now });
  t.teardown(() => shared.close());
  const issuer = await openIssuer(t);
  const at = await open(t, { store: shared });
  const admin = await at.login();
  const { exchanged } = await tokensOfOne({ at, admin, issuer }, "one");
  const jwt = await issuer.sign({ sub: "one", aud: AUDIENCE, jti: "never used" });
  const late = withLateNews(shared);
  const other = await open(t, { store: late.store });

  const keys = holdKeys(issuer);
  const accepting = other.call(PolicyService.acceptJwt, { jwt }, undefined, { admission: SYSTEM });
  await keys.asked;
  const deleting = at.call(TrustsService.delete, { name: "one" }, admin);
  // It is in the log, and waits for the other authority.
  await until(async () => !(await isGood(at, exchanged)));
  keys.release();
  t.match(await accepting, { accepted: false });
  late.tell();
  await deleting;
  for (const authority of [at, other]) t.notOk(await isGood(authority, jwt));
});
