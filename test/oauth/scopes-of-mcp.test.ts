// A grant for `/mcp` alone is of tools, which are endpoints of services. A scope of another type
// names none of them, so nobody consents to it: the page would say "0 endpoints".
import { createHash } from "node:crypto";
import t from "tap";
import { openDoor, visit } from "./browser.js";
import { register } from "./granted.js";

t.test("for /mcp, scopes of another type than service are refused", async (t) => {
  const door = await openDoor(t);
  await register(door, "app");
  const ask = (scope: string) =>
    visit(
      `${door.url}/oauth/authorize?${new URLSearchParams({
        ...{ response_type: "code", client_id: "app", redirect_uri: "https://app.example/callback", scope, state: "s" },
        ...{ code_challenge: createHash("sha256").update("v".repeat(43)).digest("base64url") },
        ...{ code_challenge_method: "S256", resource: `${door.url}/mcp` },
      })}`,
    );
  for (const scope of ["file:helloworld:*", "service:probe:* file:helloworld:*", "mcp:helloworld:*", "servic:a:*"]) {
    const { location = "" } = await ask(scope);
    t.equal(new URL(location || "x:y").searchParams.get("error"), "invalid_scope", scope);
  }
  for (const scope of ["service:helloworld:*", "*:*:*", "SERVICE:helloworld:*", "serv*:helloworld:*"]) {
    t.equal((await ask(scope)).status, 200, scope);
  }
  const device = await fetch(`${door.url}/oauth/device_authorization`, {
    method: "POST",
    body: new URLSearchParams({ client_id: "app", scope: "file:helloworld:*", resource: `${door.url}/mcp` }),
  });
  t.match(await device.json(), { error: "invalid_scope" });
});
