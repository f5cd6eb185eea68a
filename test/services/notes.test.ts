import t from "tap";
import { parts } from "../../services/notes/notes.js";
import { Code } from "../../src/errors.js";
import { type Calls, type Message, serveCatalogue, withoutConditions } from "../support/catalogue.js";
import { temporaryFolder } from "../support/temporary.js";

const note = { title: "Groceries", text: "Tea and bread" };

t.test("a note is created, read, changed and deleted", async (t) => {
  const { call } = serveCatalogue(t, "notes", parts);
  const created = await call("Create", note);
  t.match(created, { ...note, revision: "1" });
  t.same(await call("Read", { id: created.id }), created);

  const updated = await call("Update", { id: created.id, text: "Tea, bread and jam" });
  t.match(updated, { title: "Groceries", text: "Tea, bread and jam", created: created.created, revision: "2" });
  t.same(await call("Read", { id: created.id }), updated);

  t.same(await call("Delete", { id: created.id }), {});
  for (const endpoint of ["Read", "Update", "Delete"]) {
    await t.rejects(call(endpoint, { id: created.id }), { code: Code.NOT_FOUND }, endpoint);
  }
});

t.test("an update leaves an absent field as it is, and clears an empty one", async (t) => {
  const { call } = serveCatalogue(t, "notes", parts);
  const { id } = await call("Create", note);
  t.match(await call("Update", { id, title: "" }), { title: "", text: note.text });
});

t.test("an update with an older revision is refused", async (t) => {
  const { call } = serveCatalogue(t, "notes", parts);
  const { id } = await call("Create", note);
  await call("Update", { id, text: "first", revision: 1 });
  await t.rejects(call("Update", { id, text: "second", revision: 1 }), { code: Code.ABORTED });
  t.match(await call("Read", { id }), { text: "first" });
});

t.test("lists notes, newest first, page by page", async (t) => {
  const { call } = serveCatalogue(t, "notes", parts);
  for (const title of ["1", "2", "3"]) await call("Create", { title });
  const first = await call("List", { limit: 2 });
  t.same(
    first.notes.map(({ title }: Message) => title),
    ["3", "2"],
  );
  const second = await call("List", { limit: 2, before: first.next });
  t.same(
    second.notes.map(({ title }: Message) => title),
    ["1"],
  );
  t.equal(second.next, "");
});

t.test("a page has as many notes as fit into 2 MiB", async (t) => {
  const { call } = serveCatalogue(t, "notes", parts);
  for (let index = 0; index < 40; index++) await call("Create", { text: "x".repeat(65_536) });
  const first = await call("List", { limit: 100 });
  t.equal(first.notes.length, 31);
  const second = await call("List", { limit: 100, before: first.next });
  t.equal(second.notes.length, 9);
});

/** The first events of a stream. */
async function take(stream: AsyncGenerator<Message>, count: number): Promise<Message[]> {
  const events: Message[] = [];
  while (events.length < count) events.push((await stream.next()).value);
  return events;
}

t.test("events", async (t) => {
  t.test("are sent as they happen", async (t) => {
    const { call, stream } = serveCatalogue(t, "notes", parts);
    const { position } = await call("List");
    const leave = new AbortController();
    const events = stream("Events", { position }, { signal: leave.signal });
    const created = await (async () => {
      const [, created] = await Promise.all([events.next(), call("Create", note)]);
      return created;
    })();
    await call("Update", { id: created.id, text: "new" });
    const [updated] = await take(events, 1);
    t.match(updated, { change: "UPDATED", note: { id: created.id, text: "new", revision: "2" } });
    t.equal(Number(updated.position), Number(position) + 2);
    await call("Delete", { id: created.id });
    const [deleted] = await take(events, 1);
    t.match(deleted, { change: "DELETED", note: { id: created.id, text: "" } });
    leave.abort();
    t.same(await events.next(), { done: true, value: undefined }, "and end when the caller leaves");
  });

  t.test("continue after a position, and none is missed", async (t) => {
    const { call, stream } = serveCatalogue(t, "notes", parts);
    await call("Create", { title: "1" });
    const { position } = await call("List");
    await call("Create", { title: "2" });
    await call("Create", { title: "3" });
    const events = await take(stream("Events", { position }), 2);
    t.same(
      events.map(({ note }) => note.title),
      ["2", "3"],
    );
  });

  t.test("begin from now on without a position", async (t) => {
    const { call, stream } = serveCatalogue(t, "notes", parts);
    await call("Create", { title: "1" });
    const { position } = await call("List");
    const events = stream("Events");
    const next = events.next();
    let received = false;
    void next.then(() => {
      received = true;
    });
    // The stream may begin before or after any of these changes, but after the first.
    while (!received) await call("Create", { title: "later" });
    t.ok(Number((await next).value.position) > Number(position));
  });

  t.test("contain only the caller's own notes", async (t) => {
    const { call, stream } = serveCatalogue(t, "notes", parts);
    const { position } = await call("List");
    const events = stream("Events", { position });
    await call("Create", { title: "bob's" }, { account: "bob" });
    await call("Create", { title: "in another namespace" }, { namespace: "other" });
    await call("Create", { title: "ada's" });
    const [first] = await take(events, 1);
    t.match(first, { note: { title: "ada's" } });
  });

  t.test("are also sent for changes of another process", async (t) => {
    const folder = temporaryFolder(t);
    const one = serveCatalogue(t, "notes", parts, { folder });
    await one.call("Create", { title: "1" });
    const other = serveCatalogue(t, "notes", parts, { folder });
    const events = one.stream("Events", { position: (await one.call("List")).position });
    await other.call("Create", { title: "2" });
    const [first] = await take(events, 1);
    t.match(first, { note: { title: "2" } });
  });

  t.test("contain each change as it was, even if the note was changed again since", async (t) => {
    const { call, stream } = serveCatalogue(t, "notes", parts);
    const { position } = await call("List");
    const { id } = await call("Create", { title: "1" });
    await call("Update", { id, title: "2" });
    await call("Delete", { id });
    const events = await take(stream("Events", { position }), 3);
    t.same(
      events.map(({ change, note }) => `${change} ${note.title}`),
      ["CREATED 1", "UPDATED 2", "DELETED "],
    );
  });

  t.test("are refused after a position whose changes are not kept, and say how to begin again", async (t) => {
    const { call, stream } = serveCatalogue(t, "notes", parts);
    const { position } = await call("List");
    for (const unknown of ["0", "5", `${Number(position) + 1}`]) {
      const error = { code: Code.OUT_OF_RANGE, message: /^position: .* call List again/ };
      await t.rejects(stream("Events", { position: unknown }).next(), error, unknown);
    }
  });
});

t.test("64 concurrent updates", async (t) => {
  const race = async (call: Calls["call"]) => {
    const { id } = await call("Create", note);
    const { position } = await call("List");
    await Promise.all(Array.from({ length: 64 }, (_, racer) => call("Update", { id, text: `${racer}` })));
    return { ...(await call("Read", { id })), changes: (await call("List")).position - position };
  };
  t.test("lose no update", async (t) => {
    const { call } = serveCatalogue(t, "notes", parts);
    t.match(await race(call), { revision: "65", changes: 64 });
  });
  t.test("lose some updates without the safeguard", async (t) => {
    const { call } = serveCatalogue(t, "notes", parts, { through: withoutConditions });
    const { revision } = await race(call);
    t.ok(Number(revision) < 65, `revision ${revision}`);
  });
});

t.test("an account sees only its own notes", async (t) => {
  const { call } = serveCatalogue(t, "notes", parts);
  const { id } = await call("Create", note);
  for (const as of [{ account: "bob" }, { namespace: "other" }]) {
    for (const endpoint of ["Read", "Update", "Delete"]) {
      await t.rejects(call(endpoint, { id }, as), { code: Code.NOT_FOUND }, endpoint);
    }
    t.same((await call("List", {}, as)).notes, []);
  }
  t.match(await call("Read", { id }), note);
});

const { call, stream, endpoints } = serveCatalogue(t, "notes", parts);

for (const { method } of endpoints) {
  t.test(`${method.name} needs an account`, async (t) => {
    const as = { account: undefined };
    const done = method.methodKind === "unary" ? call(method.name, {}, as) : stream(method.name, {}, as).next();
    await t.rejects(done, { code: Code.UNAUTHENTICATED });
  });
}

const WRONG = [
  { endpoint: "Create", request: { title: "x".repeat(201) }, field: "title" },
  { endpoint: "Create", request: { text: "x".repeat(65_537) }, field: "text" },
  { endpoint: "Update", request: { id: "a", title: "x".repeat(201) }, field: "title" },
  { endpoint: "Read", request: {}, field: "id" },
  { endpoint: "Delete", request: { id: "a/b" }, field: "id" },
  { endpoint: "List", request: { limit: 101 }, field: "limit" },
  { endpoint: "List", request: { before: "\u0000" }, field: "before" },
];

for (const { endpoint, request, field } of WRONG) {
  t.test(`${endpoint} refuses ${JSON.stringify(request).slice(0, 60)} and names the field`, async (t) => {
    await t.rejects(call(endpoint, request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}
