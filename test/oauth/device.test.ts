// Devices without a browser (RFC 8628), by oauth4webapi.
import * as oauth from "oauth4webapi";
import t from "tap";
import { type Door, openDoor, PERSON, submit, visit } from "./browser.js";

const insecure = { [oauth.allowInsecureRequests]: true };
const client: oauth.Client = { client_id: "portico-cli" };

async function start(door: Door, parameters: Record<string, string> = {}) {
  const issuer = new URL(door.url);
  const discovery = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  const as = await oauth.processDiscoveryResponse(issuer, discovery);
  const form = new URLSearchParams({ client_name: "build box", ...parameters });
  const response = await oauth.deviceAuthorizationRequest(as, client, oauth.None(), form, insecure);
  const device = await oauth.processDeviceAuthorizationResponse(as, client, response);
  const poll = async () => {
    const asked = await oauth.deviceCodeGrantRequest(as, client, oauth.None(), device.device_code, insecure);
    return oauth.processDeviceCodeResponse(as, client, asked).catch((error: oauth.ResponseBodyError) => error.error);
  };
  return { device, poll };
}

t.test("a person allows a device by its code", async (t) => {
  const door = await openDoor(t);
  const { device, poll } = await start(door);
  t.match(device, { user_code: /^[B-DF-HJ-NP-TV-Z]{4}-[B-DF-HJ-NP-TV-Z]{4}$/, device_code: /^ptd_/, interval: 5 });
  t.equal(device.verification_uri, `${door.url}/device`);
  t.equal(await poll(), "authorization_pending");
  t.equal(await poll(), "slow_down", "the second poll comes too early");
  const page = await visit(device.verification_uri_complete!);
  const typed = device.user_code.toLowerCase().replace("-", " ");
  const shown = await submit(door, page, { ...PERSON, user_code: typed });
  t.match(shown.text, /A device that calls itself build box/);
  t.match(await submit(door, shown, { decision: "allow" }), { status: 200, text: /Allowed/ });
  const tokens = await poll();
  if (typeof tokens === "string") return t.fail(tokens);
  t.equal(await door.statusOf(tokens.access_token), 200);
  t.equal(await poll(), "invalid_grant", "the code counts once");
  t.equal(await door.statusOf(tokens.access_token), 401, "and a second use ends the grant");
});

t.test("a person refuses a device", async (t) => {
  const door = await openDoor(t);
  const { device, poll } = await start(door);
  const shown = await submit(door, await visit(device.verification_uri_complete!), PERSON);
  t.match(await submit(door, shown, { decision: "deny" }), { status: 200, text: /Refused/ });
  t.equal(await poll(), "access_denied");
  const again = await submit(door, await visit(device.verification_uri_complete!), PERSON);
  t.match(again, { status: 401, text: /No device shows this code/ });
});

t.test("grants to the command line that end in one namespace end no device that waits in another", async (t) => {
  const door = await openDoor(t);
  const { adminPassword } = await door.auth<{ adminPassword: string }>("Namespaces/Create", { name: "team" });
  const tenant = { account: "admin", namespace: "team", password: adminPassword };
  const first = await start(door);
  const shown = await submit(door, await visit(first.device.verification_uri_complete!), tenant);
  await submit(door, shown, { decision: "allow" });
  const tokens = await first.poll();
  if (typeof tokens === "string") return t.fail(tokens);
  const waiting = await start(door);
  t.same(await door.auth("Clients/Delete", { id: "portico-cli" }, tokens.access_token), { grants: 1 });
  t.equal(await waiting.poll(), "authorization_pending");
});

t.test("wrong codes are counted, and need a sign-in", async (t) => {
  const door = await openDoor(t);
  const page = await visit(`${door.url}/device?user_code=BBBB-BBBB`);
  for (let count = 0; count < 5; count++) {
    t.match(await submit(door, page, PERSON), { status: 401, text: /No device shows this code/ });
  }
  t.equal((await submit(door, page, PERSON)).status, 429);
});

t.test("the code of a device of one's own does not make wrong ones forgotten", async (t) => {
  const door = await openDoor(t);
  const { device } = await start(door);
  const own = await visit(device.verification_uri_complete!);
  const other = await visit(`${door.url}/device?user_code=BBBB-BBBB`);
  for (let count = 0; count < 5; count++) {
    t.match(await submit(door, own, PERSON), { status: 200, text: /asks to call for you/ });
    t.equal((await submit(door, other, PERSON)).status, 401);
  }
  t.equal((await submit(door, other, PERSON)).status, 429);
});

t.test("a client's network may begin ten devices in a minute, and only registered clients", async (t) => {
  const door = await openDoor(t);
  const ask = async (id: string) => {
    const body = new URLSearchParams({ client_id: id });
    const response = await fetch(`${door.url}/oauth/device_authorization`, { method: "POST", body });
    return ((await response.json()) as { error?: string }).error;
  };
  t.equal(await ask("nobody"), "invalid_client");
  t.equal(await ask("https://app.example/client.json"), "invalid_client");
  for (let count = 0; count < 10; count++) t.equal(await ask("portico-cli"), undefined);
  t.equal(await ask("portico-cli"), "slow_down");
});
