/**
 * Stores balances. A call makes its changes in one commit: the balances, on the condition that they
 * have not changed since they were read, a transaction for each balance, and the response under the
 * idempotency key.
 */
import { randomUUID } from "node:crypto";
import { type Transaction, type WalletInfo, WalletService } from "../../src/gen/wallet/wallet.js";
import {
  alreadyExists,
  type Call,
  type Entry,
  failedPrecondition,
  invalidArgument,
  notFound,
  part,
  resourceExhausted,
  toTimestamp,
  type Write,
} from "../../src/kit/index.js";
import { accountOf, checkAfter, checkName, checkNumber, checkText, PAGE } from "../patterns/checks.js";
import { deferDelete, deleteExpired } from "../patterns/deferred-delete.js";
import { withIdempotencyKey } from "../patterns/idempotency.js";
import { retry } from "../patterns/retry.js";

const DAY = 86_400_000;
const TEXT = { min: 0, max: 200 };
/** The maximum number of wallets of an account. */
const MAX_WALLETS = 100_000;
/**
 * The maximum amount and balance: the largest number that is exact in JSON, which is how the store
 * writes it.
 */
const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;
const TRANSACTION_TTL_MS = 400 * DAY;
const KEY_TTL_MS = 30 * DAY;
/** The number of digits of a transaction's number in its key, so that keys sort by number. */
const DIGITS = 16;

/** A wallet, stored under its account and ID. */
interface StoredWallet {
  /**
   * The prefix of the keys of its transactions. A later wallet with the same ID has another one.
   */
  readonly key: string;
  readonly description: string;
  readonly balance: number;
  /** The number of its transactions. */
  readonly transactions: number;
  /** In milliseconds since 1970. */
  readonly created: number;
}

/** A transaction, stored under the `key` of its wallet and its number. */
interface StoredTransaction {
  readonly number: number;
  readonly wallet: string;
  readonly amount: number;
  readonly balance: number;
  readonly reference: string;
  readonly time: number;
  readonly counterpart: string;
}

/** One call's change to a wallet. */
interface Change {
  readonly wallet: string;
  /** Negative for a debit. */
  readonly amount: number;
  readonly counterpart: string;
}

interface Movement {
  readonly changes: readonly Change[];
  readonly reference: string;
  readonly idempotencyKey: string;
}

/** The service `wallet`. */
export const parts = [
  part(WalletService, {
    async create({ id, description }, call) {
      const account = accountOf(call, "Wallets");
      checkName("id", id);
      checkText("description", description, TEXT);
      const wallet: StoredWallet = { key: randomUUID(), description, balance: 0, transactions: 0, created: Date.now() };
      const result = await walletsOf(call).commit([
        { set: `${account}/${id}`, value: wallet, ifAbsent: true },
        { increment: account, by: 1, max: MAX_WALLETS, collection: "counts" },
      ]);
      if (result.committed) return toWallet(id, wallet);
      // `failed` is the index of the write whose condition did not hold.
      if (result.failed === 0) throw alreadyExists(`id: there is a wallet ${id}`);
      throw resourceExhausted(`You have ${MAX_WALLETS} wallets: delete some first`);
    },

    async delete({ id }, call) {
      const account = accountOf(call, "Wallets");
      return retry(call, account, async () => {
        const { value, version } = await walletOf(call, id);
        if (value.balance !== 0)
          throw failedPrecondition(`The wallet ${id} has a balance of ${value.balance}: debit it first`);
        const { committed } = await walletsOf(call).commit([
          { delete: `${account}/${id}`, ifVersion: version },
          { increment: account, by: -1, collection: "counts" },
          deferDelete(value.key, ["transactions"]),
        ]);
        if (!committed) return undefined;
        await deleteExpired(call);
        return {};
      });
    },

    async read({ id }, call) {
      return toWallet(id, (await walletOf(call, id)).value);
    },

    async credit({ id: wallet, amount, idempotencyKey, reference }, call) {
      const changes = [{ wallet, amount: checkAmount(amount), counterpart: "" }];
      const [credit] = await move(call, { changes, reference, idempotencyKey });
      return toTransaction(credit!);
    },

    async debit({ id: wallet, amount, idempotencyKey, reference }, call) {
      const changes = [{ wallet, amount: -checkAmount(amount), counterpart: "" }];
      const [debit] = await move(call, { changes, reference, idempotencyKey });
      return toTransaction(debit!);
    },

    async balance({ id }, call) {
      return { balance: BigInt((await walletOf(call, id)).value.balance) };
    },

    async list({ after, limit }, call) {
      const prefix = `${accountOf(call, "Wallets")}/`;
      const { entries, next } = await walletsOf(call).range({
        prefix,
        limit: checkNumber("limit", limit, PAGE),
        after: checkAfter(after) && prefix + after,
      });
      const wallets = entries.map(({ key, value }) => toWallet(key.slice(prefix.length), value));
      return { wallets, next: next?.slice(prefix.length) ?? "" };
    },

    async transactions({ id, before, limit }, call) {
      const { value: wallet } = await walletOf(call, id);
      if (before < 0n || before > BigInt(MAX_AMOUNT))
        throw invalidArgument(`before: must be from 0 to ${MAX_AMOUNT}, got ${before}`);
      const { entries, next } = await call.store<StoredTransaction>("transactions").range({
        prefix: `${wallet.key}/`,
        reverse: true,
        limit: checkNumber("limit", limit, PAGE),
        after: before === 0n ? undefined : transactionKey(wallet, Number(before)),
      });
      const transactions = entries.map(({ value }) => toTransaction(value));
      return { transactions, next: next === undefined ? 0n : transactions.at(-1)!.number };
    },

    async transfer({ from, to, amount: asked, idempotencyKey, reference }, call) {
      checkName("from", from);
      checkName("to", to);
      if (from === to) throw invalidArgument("to: must be another wallet than `from`");
      const amount = checkAmount(asked);
      const changes = [
        { wallet: from, amount: -amount, counterpart: to },
        { wallet: to, amount, counterpart: from },
      ];
      const [debit, credit] = await move(call, { changes, reference, idempotencyKey });
      return { debit: toTransaction(debit!), credit: toTransaction(credit!) };
    },
  }),
];

function walletsOf(call: Call) {
  return call.store<StoredWallet>("wallets");
}

async function walletOf(call: Call, id: string): Promise<Entry<StoredWallet>> {
  const account = accountOf(call, "Wallets");
  checkName("id", id);
  const entry = await walletsOf(call).getEntry(`${account}/${id}`);
  if (entry === undefined) throw notFound(`You have no wallet ${id}`);
  return entry;
}

function checkAmount(amount: bigint): number {
  if (amount >= 1n && amount <= BigInt(MAX_AMOUNT)) return Number(amount);
  throw invalidArgument(`amount: must be from 1 to ${MAX_AMOUNT}, got ${amount}`);
}

/**
 * Changes balances, all of them or none, once for each idempotency key.
 * @returns a transaction for each change
 */
function move(call: Call, { changes, reference, idempotencyKey }: Movement): Promise<StoredTransaction[]> {
  const account = accountOf(call, "Wallets");
  if (idempotencyKey === "")
    throw invalidArgument("idempotencyKey: is missing: choose one for each movement, and repeat it");
  checkText("reference", reference, TEXT);
  const request = [reference, ...changes.flatMap(({ wallet, amount }) => [wallet, amount])];
  return withIdempotencyKey(call, { account, idempotencyKey, request, ttlMs: KEY_TTL_MS }, async (record) => {
    const time = Date.now();
    const made: StoredTransaction[] = [];
    const writes: Write[] = [];
    for (const change of changes) {
      const { key, value, version } = await walletOf(call, change.wallet);
      const transaction = transactionOf(value, change, reference, time);
      const wallet = { ...value, balance: transaction.balance, transactions: transaction.number };
      made.push(transaction);
      writes.push(
        { set: key, value: wallet, ifVersion: version },
        {
          set: transactionKey(value, transaction.number),
          value: transaction,
          ttlMs: TRANSACTION_TTL_MS,
          collection: "transactions",
        },
      );
    }
    const { committed } = await walletsOf(call).commit([...writes, ...record(made)]);
    return committed ? made : undefined;
  });
}

/** @throws {StatusError} FAILED_PRECONDITION if the balance would be below 0 or too large */
function transactionOf(wallet: StoredWallet, change: Change, reference: string, time: number): StoredTransaction {
  const balance = wallet.balance + change.amount;
  if (balance < 0) throw failedPrecondition(`The wallet ${change.wallet} has only ${wallet.balance}`);
  if (balance > MAX_AMOUNT)
    throw failedPrecondition(`The balance of the wallet ${change.wallet} would exceed ${MAX_AMOUNT}`);
  return { ...change, number: wallet.transactions + 1, balance, reference, time };
}

function transactionKey({ key }: StoredWallet, number: number): string {
  return `${key}/${`${number}`.padStart(DIGITS, "0")}`;
}

function toWallet(id: string, { description, balance, created }: StoredWallet): WalletInfo {
  return { id, description, balance: BigInt(balance), created: toTimestamp(created) };
}

function toTransaction({ number, amount, balance, time, ...rest }: StoredTransaction): Transaction {
  const numbers = { number: BigInt(number), amount: BigInt(amount), balance: BigInt(balance) };
  return { ...rest, ...numbers, time: toTimestamp(time) };
}
