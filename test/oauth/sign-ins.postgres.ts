/** Sign-ins at two authorities that share a database on Postgres. */
import t from "tap";
import { openStore } from "../../src/store/open.js";
import { signInsContract } from "../contract/sign-ins.js";
import { noPostgres, startPostgres } from "../support/postgres.js";

t.test("on one server", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { max_connections: "200" } });
  signInsContract(t, async () => {
    const database = await server.createDatabase();
    return () => openStore(server.url(database), "");
  });
});
