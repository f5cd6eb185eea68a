// Clients, grants and codes in the log (services/auth/log/state/oauth-table.ts): two authorities on
// a store agree on them, a snapshot keeps them, and they are bounded. What ends them is in
// test/access/ended.test.ts.
import t from "tap";
import { fold } from "../../services/auth/log/state/fold.js";
import { MAX_GRANT_ACCESS, MAX_GRANTS } from "../../services/auth/log/state/oauth-table.js";
import { formatOf } from "../../services/auth/log/state/snapshot-parts.js";
import { State } from "../../services/auth/log/state/state.js";
import { createToken, hashToken } from "../../src/call/token.js";
import { Code as Status } from "../../src/errors.js";
import { DeviceCode, type Event, Grant, OAuthClient } from "../../src/gen/portico/auth/log/v1/log.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { OAuthService } from "../../src/gen/portico/auth/v1/oauth.js";
import { toTimestamp } from "../../src/time.js";
import { isGood, open } from "../services/auth/open.js";
import { restored } from "../services/auth/restored.js";
import { openMemoryStore } from "../support/memory-store.js";
import { consent, exchange } from "./at-the-authority.js";

t.test("of two authorities, any exchanges a code, and of two exchanges at once, one wins", async (t) => {
  const store = openMemoryStore({ mayBeStale: true, time: Date.now });
  const one = await open(t, { store });
  const other = await open(t, { store });
  const code = await consent(one);
  const first = await exchange(other, { $case: "code", value: code });
  t.match(first, { error: "", accessToken: /^pta_/ });
  t.ok(await isGood(one, first.accessToken));
  const raced = await consent(one);
  const both = await Promise.all([one, other].map((authority) => exchange(authority, { $case: "code", value: raced })));
  t.equal(both.filter(({ error }) => error === "").length, 1);
});

t.test("only gateways may call what they ask for", async (t) => {
  const opened = await open(t);
  const admin = await opened.login();
  const create = (name: string) => opened.call(EnrolmentsService.create, { name, replace: false }, admin);
  const [service, gateway] = [await create("orders"), await create("gateway")];
  const request = { id: "portico-cli" };
  await t.rejects(opened.call(OAuthService.getClient, request, service.secret), { code: Status.PERMISSION_DENIED });
  await t.rejects(opened.call(OAuthService.getClient, request, admin), { code: Status.PERMISSION_DENIED });
  await t.rejects(opened.call(OAuthService.getClient, request), { code: Status.UNAUTHENTICATED });
  t.match(await opened.call(OAuthService.getClient, request, gateway.secret), { client: { namespace: "" } });
});

const NOW = 1_800_000_000_000;
const token = () => ({ sha256: hashToken(createToken("access")), expires: toTimestamp(NOW + 3_600_000) });

function grantOf(id: string, part: Partial<Grant> = {}): Grant {
  const times = { created: toTimestamp(NOW), expires: toTimestamp(NOW + 86_400_000) };
  return Grant.fromPartial({ id, namespace: "default", account: "ann", clientId: "app", ...times, ...part });
}

function opened() {
  const state = new State();
  const apply = (...events: NonNullable<Event["event"]>[]) =>
    fold(state, {
      ...{ time: toTimestamp(NOW), actor: "ann", namespace: "default" },
      events: events.map((event) => ({ event })),
    });
  apply(
    { $case: "namespaceCreated", value: { name: "default" } },
    { $case: "accountCreated", value: { namespace: "default", name: "ann", scopes: [], password: undefined } },
  );
  return { state, apply };
}

t.test("a snapshot has clients, grants and device codes, in format 3", async (t) => {
  const { state, apply } = opened();
  const empty = state.freeze();
  t.equal(formatOf(empty), 1);
  empty.release();
  apply({
    $case: "oauthClientCreated",
    value: { client: OAuthClient.fromPartial({ namespace: "default", id: "app" }) },
  });
  apply({ $case: "grantCreated", value: { grant: grantOf("g1", { resources: ["service:a:*"], access: [token()] }) } });
  const device = { sha256: hashToken("d"), userCodeSha256: hashToken("u"), expires: toTimestamp(NOW + 60_000) };
  apply({ $case: "deviceCodeCreated", value: { code: DeviceCode.fromPartial(device) } });
  const frozen = state.freeze();
  t.equal(formatOf(frozen), 3);
  const copy = await restored(state);
  t.same(copy.oauth.freeze(), frozen.oauth);
  t.same(copy.restrictions, ["limited-keys"], "a limited grant is a restriction");
  frozen.release();
});

t.test("a disabled account gets no grant, whatever another authority decided just before", async (t) => {
  const { state, apply } = opened();
  apply({ $case: "accountDeleted", value: { namespace: "default", name: "ann", disabled: true } });
  apply({ $case: "grantCreated", value: { grant: grantOf("g1") } });
  t.equal(state.oauth.grant("g1"), undefined);
});

t.test("a draft changes nothing of its base", async (t) => {
  const { state, apply } = opened();
  apply({ $case: "grantCreated", value: { grant: grantOf("g1", { access: [token()] }) } });
  const { sha256 } = state.oauth.grant("g1")!.access[0]!;
  const draft = state.draft();
  draft.oauth.removeGrant("g1");
  t.equal(draft.oauth.token(sha256), undefined);
  t.equal(state.oauth.token(sha256)?.kind, "access");
});

t.test("an account has at most 100 grants, and a grant 16 access tokens: the oldest ends", async (t) => {
  const { state, apply } = opened();
  const oldest = grantOf("g0", { access: [token()] });
  apply({ $case: "grantCreated", value: { grant: oldest } });
  for (let count = 1; count < MAX_GRANTS; count++)
    apply({ $case: "grantCreated", value: { grant: grantOf(`g${count}`) } });
  t.equal(state.oauth.grantsOf("default", "ann").length, MAX_GRANTS);
  const { changes } = apply({ $case: "grantCreated", value: { grant: grantOf("new") } });
  t.match(changes, [{ change: { $case: "tokensRevoked", value: { sha256: [oldest.access[0]!.sha256] } } }]);
  t.equal(state.oauth.grantsOf("default", "ann").length, MAX_GRANTS);
  const first = token();
  apply({ $case: "grantRedeemed", value: { id: "new", access: first, refresh: token() } });
  const renew = () => apply({ $case: "grantRefreshed", value: { id: "new", access: token(), refresh: token() } });
  for (let count = 1; count < MAX_GRANT_ACCESS; count++) t.same(renew().changes, []);
  t.match(renew().changes, [{ change: { $case: "tokensRevoked", value: { sha256: [first.sha256] } } }]);
});

t.test("expired grants are forgotten", async (t) => {
  const { state } = opened();
  state.oauth.addGrant(grantOf("g1"));
  state.oauth.addGrant(
    grantOf("unused", { code: { ...Grant.fromPartial({ code: {} }).code!, expires: toTimestamp(NOW) } }),
  );
  state.oauth.forget(NOW + 600_001);
  t.same(
    state.oauth.grantsOf("default", "ann").map(({ id }) => id),
    ["g1"],
  );
  state.oauth.forget(NOW + 86_400_001);
  t.same(state.oauth.grantsOf("default", "ann"), []);
});
