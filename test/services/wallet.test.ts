import t from "tap";
import { parts } from "../../services/wallet/wallet.js";
import { Code } from "../../src/errors.js";
import { type Calls, type Message, serveCatalogue, withoutConditions } from "../support/catalogue.js";

const RACERS = 64;
const MAX = "9007199254740991";

let keys = 0;
/** A new idempotency key. */
const key = () => `key-${++keys}`;

/** Creates wallets with balances. */
async function wallets(call: Calls["call"], balances: Record<string, number>): Promise<void> {
  for (const [id, amount] of Object.entries(balances)) {
    await call("Create", { id });
    if (amount > 0) await call("Credit", { id, amount, idempotencyKey: key() });
  }
}

const balanceOf = async (call: Calls["call"], id: string) => (await call("Balance", { id })).balance;

t.test("a wallet is created, read, listed and deleted", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  const created = await call("Create", { id: "ada", description: "Pocket money" });
  t.match(created, { id: "ada", description: "Pocket money", balance: "0" });
  await t.rejects(call("Create", { id: "ada" }), { code: Code.ALREADY_EXISTS });
  t.same(await call("Read", { id: "ada" }), created);
  t.same(await call("List"), { wallets: [created], next: "" });
  t.same(await call("Delete", { id: "ada" }), {});
  for (const endpoint of ["Read", "Balance", "Transactions", "Delete"]) {
    await t.rejects(call(endpoint, { id: "ada" }), { code: Code.NOT_FOUND }, endpoint);
  }
});

t.test("credits and debits change the balance and create transactions", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  await call("Create", { id: "ada" });
  const credit = await call("Credit", { id: "ada", amount: 1250, idempotencyKey: key(), reference: "Order 4711" });
  t.match(credit, { number: "1", wallet: "ada", amount: "1250", balance: "1250", reference: "Order 4711" });
  const debit = await call("Debit", { id: "ada", amount: 250, idempotencyKey: key() });
  t.match(debit, { number: "2", amount: "-250", balance: "1000", counterpart: "" });
  t.equal(await balanceOf(call, "ada"), "1000");
  t.same(await call("Transactions", { id: "ada" }), { transactions: [debit, credit], next: "0" });
});

t.test("a transfer moves an amount from one wallet to another", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  await wallets(call, { ada: 100, bob: 5 });
  const transfer = await call("Transfer", {
    from: "ada",
    to: "bob",
    amount: 30,
    idempotencyKey: key(),
    reference: "Rent",
  });
  t.match(transfer.debit, { wallet: "ada", amount: "-30", balance: "70", counterpart: "bob", reference: "Rent" });
  t.match(transfer.credit, { wallet: "bob", amount: "30", balance: "35", counterpart: "ada", reference: "Rent" });
});

t.test("a debit cannot exceed the balance", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  await wallets(call, { ada: 10, bob: 0 });
  await t.rejects(call("Debit", { id: "ada", amount: 11, idempotencyKey: "a" }), { code: Code.FAILED_PRECONDITION });
  const transfer = { from: "ada", to: "bob", amount: 11, idempotencyKey: "b" };
  await t.rejects(call("Transfer", transfer), { code: Code.FAILED_PRECONDITION });
  await t.rejects(call("Transfer", { ...transfer, amount: 1, to: "nobody" }), { code: Code.NOT_FOUND });
  t.equal(await balanceOf(call, "ada"), "10");

  await call("Credit", { id: "ada", amount: 1, idempotencyKey: key() });
  t.match(
    await call("Debit", { id: "ada", amount: 11, idempotencyKey: "a" }),
    { balance: "0" },
    "a refused key is free",
  );
});

t.test("a balance has a maximum, which is exact", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  await wallets(call, { ada: 0 });
  t.match(await call("Credit", { id: "ada", amount: MAX, idempotencyKey: key() }), { balance: MAX });
  await t.rejects(call("Credit", { id: "ada", amount: 1, idempotencyKey: key() }), { code: Code.FAILED_PRECONDITION });
  t.match(await call("Debit", { id: "ada", amount: 1, idempotencyKey: key() }), { balance: "9007199254740990" });
});

t.test("a wallet with a balance cannot be deleted", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  await wallets(call, { ada: 1 });
  await t.rejects(call("Delete", { id: "ada" }), { code: Code.FAILED_PRECONDITION });
  t.equal(await balanceOf(call, "ada"), "1");
});

t.test("a new wallet does not have the transactions of a deleted one", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  await wallets(call, { ada: 1 });
  await call("Debit", { id: "ada", amount: 1, idempotencyKey: key() });
  await call("Delete", { id: "ada" });
  await wallets(call, { ada: 7 });
  const { transactions } = await call("Transactions", { id: "ada" });
  t.match(transactions, [{ number: "1", amount: "7" }]);
  t.equal(transactions.length, 1);
});

t.test("transactions are listed page by page, newest first", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  await wallets(call, { ada: 1 });
  for (const amount of [2, 3]) await call("Credit", { id: "ada", amount, idempotencyKey: key() });
  const first = await call("Transactions", { id: "ada", limit: 2 });
  t.same(
    first.transactions.map(({ amount }: Message) => amount),
    ["3", "2"],
  );
  t.equal(first.next, "2");
  const second = await call("Transactions", { id: "ada", limit: 2, before: first.next });
  t.same(
    second.transactions.map(({ amount }: Message) => amount),
    ["1"],
  );
  t.equal(second.next, "0");
});

const MOVEMENTS = {
  Credit: { id: "ada", amount: 5 },
  Debit: { id: "ada", amount: 5 },
  Transfer: { from: "ada", to: "bob", amount: 5 },
};

for (const [endpoint, request] of Object.entries(MOVEMENTS)) {
  t.test(`${endpoint} takes effect once, however often it is repeated`, async (t) => {
    const { call } = serveCatalogue(t, "wallet", parts);
    await wallets(call, { ada: 100, bob: 0 });
    const idempotencyKey = key();
    const responses = await Promise.all(
      Array.from({ length: RACERS }, () => call(endpoint, { ...request, idempotencyKey })),
    );
    responses.push(await call(endpoint, { ...request, idempotencyKey }));
    t.equal(new Set(responses.map((response) => JSON.stringify(response))).size, 1, "the same answer to all");
    t.equal(await balanceOf(call, "ada"), endpoint === "Credit" ? "105" : "95");

    const other = { ...request, amount: 6, idempotencyKey };
    await t.rejects(call(endpoint, other), { code: Code.INVALID_ARGUMENT, message: /^idempotencyKey: / });
  });
}

t.test("accounts do not share idempotency keys", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  for (const account of ["ada", "bob"]) {
    await call("Create", { id: "till" }, { account });
    await call("Credit", { id: "till", amount: 5, idempotencyKey: "a" }, { account });
    t.same(await call("Balance", { id: "till" }, { account }), { balance: "5" });
  }
});

t.test(`${RACERS} concurrent calls`, async (t) => {
  const credits = async (call: Calls["call"]) => {
    await call("Create", { id: "ada" });
    await Promise.all(
      Array.from({ length: RACERS }, () => call("Credit", { id: "ada", amount: 1, idempotencyKey: key() })),
    );
    const { transactions } = await call("Transactions", { id: "ada" });
    return { balance: await balanceOf(call, "ada"), transactions: transactions.length };
  };
  t.test("lose no credit", async (t) => {
    const { call } = serveCatalogue(t, "wallet", parts);
    t.same(await credits(call), { balance: `${RACERS}`, transactions: RACERS });
  });
  t.test("lose credits without the safeguard", async (t) => {
    const { call } = serveCatalogue(t, "wallet", parts, { through: withoutConditions });
    const { balance } = await credits(call);
    t.ok(Number(balance) < RACERS, `${balance} of ${RACERS}`);
  });
  t.test("do not overdraw a wallet", async (t) => {
    const { call } = serveCatalogue(t, "wallet", parts);
    await wallets(call, { ada: 10 });
    const debits = Array.from({ length: RACERS }, () => call("Debit", { id: "ada", amount: 1, idempotencyKey: key() }));
    const settled = await Promise.allSettled(debits);
    t.equal(settled.filter(({ status }) => status === "fulfilled").length, 10);
    t.equal(await balanceOf(call, "ada"), "0");
  });
  t.test("in a circle neither create nor destroy money", async (t) => {
    const { call } = serveCatalogue(t, "wallet", parts);
    const ids = ["ada", "bob", "cleo"];
    await wallets(call, { ada: 100, bob: 100, cleo: 100 });
    await Promise.allSettled(
      Array.from({ length: RACERS }, (_, racer) =>
        call("Transfer", { from: ids[racer % 3], to: ids[(racer + 1) % 3], amount: 7, idempotencyKey: key() }),
      ),
    );
    const balances = await Promise.all(ids.map(async (id) => Number(await balanceOf(call, id))));
    t.equal(
      balances.reduce((sum, balance) => sum + balance),
      300,
    );
  });
});

t.test("an account sees only its own wallets", async (t) => {
  const { call } = serveCatalogue(t, "wallet", parts);
  await wallets(call, { ada: 10 });
  for (const as of [{ account: "bob" }, { namespace: "other" }]) {
    for (const endpoint of ["Read", "Balance", "Transactions", "Delete"]) {
      await t.rejects(call(endpoint, { id: "ada" }, as), { code: Code.NOT_FOUND }, endpoint);
    }
    await t.rejects(call("Credit", { id: "ada", amount: 1, idempotencyKey: "x" }, as), { code: Code.NOT_FOUND });
    t.same((await call("List", {}, as)).wallets, []);
  }
});

const { call, endpoints } = serveCatalogue(t, "wallet", parts);

for (const { method } of endpoints) {
  t.test(`${method.name} needs an account`, async (t) => {
    const request = /^(Credit|Debit|Transfer)$/.test(method.name)
      ? { ...MOVEMENTS[method.name as keyof typeof MOVEMENTS], idempotencyKey: "a" }
      : {};
    await t.rejects(call(method.name, request, { account: undefined }), { code: Code.UNAUTHENTICATED });
  });
}

const WRONG = [
  { endpoint: "Create", request: {}, field: "id" },
  { endpoint: "Create", request: { id: "a", description: "x".repeat(201) }, field: "description" },
  { endpoint: "Credit", request: { id: "a", idempotencyKey: "a" }, field: "amount" },
  { endpoint: "Credit", request: { id: "a", amount: -1, idempotencyKey: "a" }, field: "amount" },
  { endpoint: "Credit", request: { id: "a", amount: "9007199254740992", idempotencyKey: "a" }, field: "amount" },
  { endpoint: "Credit", request: { id: "a", amount: 1 }, field: "idempotencyKey" },
  { endpoint: "Debit", request: { id: "a", amount: 1, idempotencyKey: "x".repeat(65) }, field: "idempotencyKey" },
  {
    endpoint: "Debit",
    request: { id: "a", amount: 1, idempotencyKey: "a", reference: "x".repeat(201) },
    field: "reference",
  },
  { endpoint: "Debit", request: { id: "a/b", amount: 1, idempotencyKey: "a" }, field: "id" },
  { endpoint: "Transfer", request: { to: "b", amount: 1, idempotencyKey: "a" }, field: "from" },
  { endpoint: "Transfer", request: { from: "a", amount: 1, idempotencyKey: "a" }, field: "to" },
  { endpoint: "Transfer", request: { from: "a", to: "a", amount: 1, idempotencyKey: "a" }, field: "to" },
  { endpoint: "List", request: { limit: -1 }, field: "limit" },
  { endpoint: "Transactions", request: { id: "a/b" }, field: "id" },
];

for (const { endpoint, request, field } of WRONG) {
  t.test(`${endpoint} refuses ${JSON.stringify(request).slice(0, 70)} and names the field`, async (t) => {
    await t.rejects(call(endpoint, request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}

t.test("Transactions refuses an invalid number, and names the field", async (t) => {
  await call("Create", { id: "till" });
  const refused = { code: Code.INVALID_ARGUMENT, message: /^before: / };
  await t.rejects(call("Transactions", { id: "till", before: -1 }), refused);
});
