/** A new password for the administrator, in a store on Postgres. */
import t from "tap";
import { openStore } from "../../../src/store/open.js";
import { recoverContract } from "../../contract/recover.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";

t.test("sets the password on one server", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { max_connections: "200" } });
  recoverContract(
    t,
    async () => {
      const database = await server.createDatabase();
      return () => openStore(server.url(database), "");
    },
    { count: 2 },
  );
});
