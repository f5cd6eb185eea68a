// A consent page that is open names the client for which it was made. It gives nothing to a later
// client with the same ID.
import t from "tap";
import { type Door, openDoor, PERSON, submit, visit } from "./browser.js";
import { authorizeUrl, PUBLIC, registerApp } from "./people.js";

const signedIn = async (door: Door) => submit(door, await visit(authorizeUrl().replace(PUBLIC, door.url)), PERSON);

t.test("a consent page is worth nothing once its client is deleted, and for a new one of its name", async (t) => {
  const door = await openDoor(t);
  await registerApp(door);
  const page = await signedIn(door);
  await door.auth("Clients/Delete", { id: "app" });
  t.match(await submit(door, page, { decision: "allow" }), { status: 400, text: /too old/ }, "deleted");
  await registerApp(door);
  t.match(await submit(door, page, { decision: "allow" }), { status: 400, text: /too old/ }, "made again");
  t.same(await door.auth("Grants/List"), { grants: [], nextPageToken: "" });
  t.match(await submit(door, await signedIn(door), { decision: "allow" }), { status: 303 }, "its own pages");
});
