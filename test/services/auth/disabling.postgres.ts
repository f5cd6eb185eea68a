/** Disabled accounts, in a store on Postgres that two authorities share. */
import t from "tap";
import { openStore } from "../../../src/store/open.js";
import { disablingContract } from "../../contract/disabling.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";

t.test("on one server", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { max_connections: "200" } });
  disablingContract(
    t,
    async () => {
      const database = await server.createDatabase();
      return () => openStore(server.url(database), "");
    },
    { count: 2 },
  );
});
