// A notebook on Portico: the services auth, notes and url do the work, and this page shows it.
import { Portico, PorticoError } from "./portico-client.js";
import { url } from "./settings.js";

const find = (id) => document.getElementById(id);

/** What a signed-in account has: a client with its token, and what ends its stream. Kept in memory only. */
let session;
/** Elements of the list by the note's ID. */
const shown = new Map();

/** Runs what a person asked for, and shows what went wrong. */
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

/** A token lives for an hour: it is replaced when most of that is over. */
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

/** Shows the notes, then each change as it comes, also those made elsewhere. Goes on after a lost connection. */
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
      // A position that is too old: the list has what the events no longer have.
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
  // What is being typed stays: saving it will tell that the note was changed meanwhile.
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
