/** Several authorities on Postgres: no guard decides without an acknowledged change. */
import t from "tap";
import { openStore } from "../../../src/store/open.js";
import { ruleSetContract } from "../../contract/rule-set.js";
import { settlingContract } from "../../contract/settling.js";
import { FULL } from "../../support/full.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";

t.test("acknowledges changes safely on one server", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t, { settings: { max_connections: "200" } });
  const openDatabase = async () => {
    const database = await server.createDatabase();
    return () => openStore(server.url(database), "");
  };
  settlingContract(t, openDatabase, { allSteps: FULL });
  ruleSetContract(t, openDatabase);
});
