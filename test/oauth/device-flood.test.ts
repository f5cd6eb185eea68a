// Anyone can ask for device codes as a client without a secret, from many networks. Such a flood
// leaves room for the devices of other clients.
import t from "tap";
import { SYSTEM } from "../../src/access/guard.js";
import { ClientsService } from "../../src/gen/portico/auth/v1/clients.js";
import { OAuthService } from "../../src/gen/portico/auth/v1/oauth.js";
import { open } from "../services/auth/open.js";
import { openMemoryStore } from "../support/memory-store.js";

t.test("one client has at most half of all device codes", async (t) => {
  const opened = await open(t, { store: openMemoryStore() });
  const made = { name: "tv", redirectUris: [], confidential: false };
  const { client } = await opened.call(ClientsService.create, made, await opened.login());
  const start = (clientId: string, network: number) => {
    const asked = {
      clientId,
      clientSecret: "",
      clientName: "",
      scopes: [],
      resource: "",
      address: `10.0.0.${network}`,
    };
    return opened.call(OAuthService.startDevice, asked, undefined, { admission: SYSTEM });
  };
  for (let network = 0; network < 50; network++) {
    const responses = await Promise.all(Array.from({ length: 10 }, () => start("portico-cli", network)));
    t.same([...new Set(responses.map(({ error }) => error))], [""]);
  }
  t.equal((await start("portico-cli", 50)).error, "slow_down");
  t.equal((await start(client?.id ?? "", 51)).error, "");
});
