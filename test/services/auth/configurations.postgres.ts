/** Configurations planned and applied at two authorities that share a store on Postgres. */
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { type Configuration, ConfigurationsService } from "../../../src/gen/portico/auth/v1/configurations.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { openStore } from "../../../src/store/open.js";
import { noPostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { type Open, open } from "./open.js";

const rule = (id: string) => ({
  ...{ id, scope: "<public>", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false },
});
const withRules = (...ids: string[]): Configuration => ({
  ...{ limits: undefined, accounts: undefined, services: undefined, issuers: undefined, trusts: undefined },
  rules: { rules: ids.map(rule) },
});

async function openTwo(t: Test, server: PostgresServer): Promise<[Open, Open, token: string]> {
  const url = server.url(await server.createDatabase());
  const opened = async () => {
    const store = await openStore(url, "");
    t.teardown(() => store.close());
    return open(t, { store });
  };
  const one = await opened();
  return [one, await opened(), await one.login()];
}

const planned = ({ call }: Open, token: string, configuration: Configuration) =>
  call(ConfigurationsService.plan, { configuration, prune: true, resources: [] }, token);
const applied = ({ call }: Open, token: string, configuration: Configuration, etag: string) =>
  call(ConfigurationsService.apply, { configuration, prune: true, etag }, token);
const idsAt = async ({ call }: Open, token: string) =>
  (await call(ConfigurationsService.read, {}, token)).configuration?.rules?.rules.map(({ id }) => id).sort();

t.test("on one server", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);

  t.test("what one authority planned, another one applies, and the first reads", async (t) => {
    const [one, two, token] = await openTwo(t, server);
    const wanted = withRules("a", "b");
    const { etag } = await planned(one, token, wanted);
    t.equal((await planned(two, token, wanted)).etag, etag, "the etag is the same at both");
    const { revision } = await applied(two, token, wanted, etag);
    t.ok(revision > 0n);
    t.same(await idsAt(one, token), ["a", "b"]);
    t.same(await applied(one, token, wanted, ""), { revision: 0n }, "there is nothing left to change");
  });

  t.test("a change at another authority since the plan refuses it", async (t) => {
    const [one, two, token] = await openTwo(t, server);
    const { etag } = await planned(one, token, withRules("a"));
    await two.call(RulesService.create, { rule: rule("another") }, token);
    await t.rejects(applied(one, token, withRules("a"), etag), { code: Code.ABORTED });
    t.same(await idsAt(one, token), ["another", "default"]);
  });

  t.test("of two that apply one plan at the same time at two authorities, one succeeds", async (t) => {
    const [one, two, token] = await openTwo(t, server);
    for (let round = 0; round < 20; round++) {
      const { etag } = await planned(one, token, withRules());
      const attempts = [one, two].map((at, index) => applied(at, token, withRules(`${round}-${index}`), etag));
      const results = await Promise.allSettled(attempts);
      const succeeded = results.flatMap(({ status }, index) => (status === "fulfilled" ? [`${round}-${index}`] : []));
      t.equal(succeeded.length, 1);
      t.same(await idsAt(one, token), succeeded);
      t.same(await idsAt(two, token), succeeded);
    }
  });
});
