// A notebook that uses Portico. The services auth, notes and url do the work, and this page shows
// the result.
import { Portico, PorticoError } from "./portico-client.js";
import { url } from "./settings.js";

const find = (id) => document.getElementById(id);

/**
 * State of a signed-in account: a client with its token, and the function that ends its stream. In
 * memory only.
 */
let session;
/** Elements of the list by the note's ID. */
const shown = new Map();

/** Runs an action of the user, and shows its error if it fails. */
async function attempt(action) {
  find("error").textContent = "";
  try {
    await action();
  } catch (error) {
    if (!(error instanceof PorticoError)) throw error;
    find("error").textContent = error.Detail;
    if (error.Code === 401) signOut();
  }
}

function onSubmit(id, action) {
  const form = find(id);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      await action(Object.fromEntries(new FormData(form)));
      form.reset();
    });
  });
}

onSubmit("sign-in", async ({ account, password }) => {
  const tokens = await new Portico({ url, token: "" }).auth.login({ account, password });
  session = { ended: new AbortController() };
  useTokens(session, tokens);
  find("sign-in").hidden = true;
  find("main").hidden = find("sign-out").hidden = false;
  await showLinks();
  attempt(() => followNotes(session));
});

/** A token is valid for an hour. It is replaced when most of this time has passed. */
function useTokens(session, { accessToken, accessExpires, refreshToken }) {
  session.portico = new Portico({ url, token: accessToken });
  const lifetime = new Date(accessExpires) - Date.now();
  session.timer = setTimeout(
    () => attempt(async () => useTokens(session, await session.portico.auth.refresh({ refreshToken }))),
    Math.max(1_000, lifetime * 0.8),
  );
}

find("sign-out").addEventListener("click", () => attempt(() => session.portico.auth.logout()).then(signOut));

function signOut() {
  clearTimeout(session?.timer);
  session?.ended.abort();
  session = undefined;
  shown.clear();
  find("notes").replaceChildren();
  find("links").replaceChildren();
  find("sign-in").hidden = false;
  find("main").hidden = find("sign-out").hidden = true;
}

/**
 * Shows the notes, and then each change as it arrives, including changes made elsewhere. Continues
 * after a lost connection.
 */
async function followNotes(followed) {
  let position;
  while (followed === session) {
    try {
      if (position === undefined) position = await showNotes(followed);
      for await (const event of followed.portico.notes.events({ position }, { signal: followed.ended.signal })) {
        if (event.change === "DELETED") hideNote(event.note.id);
        else showNote(event.note);
        position = event.position;
      }
    } catch (error) {
      if (followed !== session) return;
      if (!(error instanceof PorticoError) || error.Code === 401) throw error;
      // The position is too old, so some events are gone. Load the whole list again.
      if (error.Code === 400) position = undefined;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

async function showNotes({ portico }) {
  const { notes, position } = await portico.notes.list({ limit: 100 });
  for (const note of notes.toReversed()) showNote(note);
  return position;
}

function showNote({ id, text, revision }) {
  let item = shown.get(id);
  if (item === undefined) {
    item = document.createElement("li");
    const field = document.createElement("textarea");
    field.setAttribute("aria-label", "Note");
    field.addEventListener("change", () => attempt(() => saveNote(id, field.value)));
    const remove = button("Delete", () => session.portico.notes.delete({ id }));
    item.append(field, remove);
    shown.set(id, item);
    find("notes").prepend(item);
  }
  item.dataset.revision = revision;
  const field = item.querySelector("textarea");
  // Text that is being typed is not overwritten. Saving it will report that the note was changed in
  // the meantime.
  if (document.activeElement !== field) field.value = text;
}

async function saveNote(id, text) {
  const { portico } = session;
  const revision = shown.get(id).dataset.revision;
  showNote(await portico.notes.update({ id, text, revision }));
}

function hideNote(id) {
  shown.get(id)?.remove();
  shown.delete(id);
}

onSubmit("new-note", ({ text }) => session.portico.notes.create({ text }).then(showNote));

onSubmit("new-link", async ({ address }) => {
  await session.portico.url.shorten({ address });
  await showLinks();
});

async function showLinks() {
  const { links } = await session.portico.url.list({});
  find("links").replaceChildren(
    ...links.map(({ name, address }) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = link.textContent = `${location.origin}/l/${name}`;
      const to = document.createElement("span");
      to.textContent = address;
      const remove = button("Delete", async () => {
        await session.portico.url.delete({ name });
        item.remove();
      });
      item.append(link, to, remove);
      return item;
    }),
  );
}

function button(text, action) {
  const element = document.createElement("button");
  element.textContent = text;
  element.addEventListener("click", () => attempt(action));
  return element;
}
