/** One wrong clock among several stops nothing, on Postgres. */
import t from "tap";
import { openStore } from "../../../src/store/open.js";
import { wrongClockContract } from "../../contract/wrong-clock.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";

t.test("one wrong clock stops nothing on one server", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { max_connections: "200" } });
  wrongClockContract(t, async () => {
    const database = await server.createDatabase();
    return () => openStore(server.url(database), "");
  });
});
