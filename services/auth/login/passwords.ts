/**
 * Passwords: scrypt (RFC 7914), with its parameters stored in each hash. Hashing uses the threads
 * that the store also needs. So only two hashes run at once and few may wait: in a flood of logins,
 * threads remain for calls and changes. A client may have even fewer passwords waiting, so that it
 * does not block other clients.
 */
import { randomBytes, randomInt, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { networkOf } from "../../../src/address/client-address.js";
import { invalidArgument, resourceExhausted } from "../../../src/errors.js";
import type { PasswordHash } from "../../../src/gen/portico/auth/log/v1/log.js";

/** scrypt's cost, block size and parallelization, which set the cost of hashing and of guessing. */
export type PasswordCost = Pick<PasswordHash, "n" | "r" | "p">;

const COST: PasswordCost = { n: 2 ** 15, r: 8, p: 3 };
const HASH_LENGTH = 32;
const AT_ONCE = 2;
const MAX_WAITING = 32;
const MAX_WAITING_OF_A_CLIENT = 4;

const MIN_LENGTH = 12;
const MAX_LENGTH = 128;
/**
 * Maximum length in UTF-16 code units: a character has at most two. Without a limit, Unicode
 * normalization could take quadratic time.
 */
const MAX_UNITS = 2 * MAX_LENGTH;
/** The characters of random passwords. Omits the ones that are easily confused: 0 o, 1 l i. */
const TYPEABLE = "abcdefghjkmnpqrstuvwxyz23456789";

/** 20 random characters of 31, so 99 bits, in groups: `k7mfq-x2nrt-8hdwc-v3pgy`. */
export function randomPassword(): string {
  const characters = Array.from({ length: 20 }, () => TYPEABLE[randomInt(TYPEABLE.length)]);
  return characters.join("").replace(/(.{5})(?!$)/g, "$1-");
}

/** Whether a password has 12 to 128 characters. */
export function isPassword(password: string): boolean {
  if (password.length > MAX_UNITS) return false;
  const length = [...password].length;
  return length >= MIN_LENGTH && length <= MAX_LENGTH;
}

/** @throws {StatusError} INVALID_ARGUMENT naming the field. */
export function checkPassword(field: string, password: string): void {
  if (isPassword(password)) return;
  throw invalidArgument(`${field}: must have ${MIN_LENGTH} to ${MAX_LENGTH} characters`);
}

const derive = promisify(scrypt) as (
  password: string,
  salt: Uint8Array,
  length: number,
  options: { N: number; r: number; p: number; maxmem: number },
) => Promise<Buffer>;

/** A password check that waits for its turn. */
interface Turn {
  /** The client's address. */
  readonly address: string;
  /** Called when its turn has come; may throw. */
  readonly begin: () => void;
}

/** Hashes and checks passwords, a few at a time. */
export class Passwords {
  readonly #cost: PasswordCost;
  #running = 0;
  /** `client` is undefined when a password is set, which needs a token. */
  readonly #waiting: { readonly client: string | undefined; begin(): void }[] = [];

  constructor(cost: PasswordCost = COST) {
    this.#cost = cost;
  }

  /**
   * @param password for which `isPassword` is true
   * @throws {StatusError} RESOURCE_EXHAUSTED when too many wait.
   */
  async hash(password: string): Promise<PasswordHash> {
    if (password.length > MAX_UNITS) throw new RangeError("the password was not checked");
    const salt = randomBytes(16);
    return { salt, hash: await this.#derive(password, { ...this.#cost, salt }), ...this.#cost };
  }

  /**
   * Whether the password matches the hash. Without a hash, or if the password is too long, the
   * result is false, after the same time.
   * @throws {StatusError} RESOURCE_EXHAUSTED when too many passwords wait, in total or of the
   *   client.
   */
  async verify(password: string, hash: PasswordHash | undefined, attempt?: Turn): Promise<boolean> {
    const against = hash ?? { ...this.#cost, salt: Buffer.alloc(16), hash: Buffer.alloc(HASH_LENGTH) };
    const isShort = password.length <= MAX_UNITS;
    const derived = await this.#derive(isShort ? password : "", against, attempt);
    return timingSafeEqual(derived, against.hash) && hash !== undefined && isShort;
  }

  async #derive(
    password: string,
    { salt, n, r, p }: Pick<PasswordHash, "salt" | "n" | "r" | "p">,
    attempt?: Turn,
  ): Promise<Buffer> {
    await this.#turn(attempt && networkOf(attempt.address));
    try {
      attempt?.begin();
      // Keyboards enter the same character as different code points.
      return await derive(password.normalize("NFC"), salt, HASH_LENGTH, { N: n, r, p, maxmem: 256 * r * (n + p + 2) });
    } finally {
      // Passes the turn to the next one that waits, if any.
      const next = this.#waiting.shift();
      if (next) next.begin();
      else this.#running -= 1;
    }
  }

  async #turn(client: string | undefined): Promise<void> {
    const ofClient = client === undefined ? [] : this.#waiting.filter((waiting) => waiting.client === client);
    if (this.#waiting.length >= MAX_WAITING || ofClient.length >= MAX_WAITING_OF_A_CLIENT) {
      throw resourceExhausted("Too many logins at once; try again");
    }
    if (this.#running >= AT_ONCE) await new Promise<void>((begin) => this.#waiting.push({ client, begin }));
    else this.#running += 1;
  }
}
