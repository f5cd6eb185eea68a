/** People are read again at two authorities that share a database on Postgres. */
import t from "tap";
import { openStore } from "../../src/store/open.js";
import { readingsContract } from "../contract/readings.js";
import { noPostgres, startPostgres } from "../support/postgres.js";

t.test("on one server", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { max_connections: "200" } });
  readingsContract(t, async () => {
    const database = await server.createDatabase();
    return () => openStore(server.url(database), "");
  });
});
