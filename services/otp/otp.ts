/**
 * Generates and validates one-time codes. They are HOTP values (RFC 4226) of the library otplib,
 * each with its own secret.
 */
import { createHash } from "node:crypto";
import { generateSecret, generateSync, verifySync } from "otplib";
import { OtpService } from "../../src/gen/otp/otp.js";
import { type Entry, invalidArgument, part, toTimestamp, type Write } from "../../src/kit/index.js";
import { accountOf, checkDuration, checkNumber, checkText } from "../patterns/checks.js";
import { withIdempotencyKey } from "../patterns/idempotency.js";
import { StorageLimit } from "../patterns/storage-limit.js";

const SUBJECT = { min: 1, max: 256 };
const LIFETIME = { min: 30_000, max: 86_400_000, absent: 300_000 };
const DIGITS = { min: 6, max: 8, absent: 6 };
const MAX_FAILURES = 5;
/** How long an idempotency key is remembered. */
const KEY_TTL_MS = 3_600_000;

const storageLimit = new StorageLimit(100_000, "subjects with a code");

/** A code, stored under its account and a hash of its subject. */
interface Code {
  readonly secret: string;
  readonly digits: 6 | 7 | 8;
  /** In milliseconds since 1970. */
  readonly expires: number;
  /** The number of wrong codes that were given. */
  readonly failures: number;
}

/** The service `otp`. */
export const parts = [
  part(OtpService, {
    async generate({ subject, lifetime, digits: asked, idempotencyKey }, call) {
      const account = accountOf(call, "Codes");
      checkText("subject", subject, SUBJECT);
      const ttlMs = checkDuration("lifetime", lifetime, LIFETIME);
      const digits = checkNumber("digits", asked, DIGITS) as Code["digits"];
      const codes = call.store<Code>("codes");
      const request = [subject, ttlMs, digits];
      const made = await withIdempotencyKey<{ code: string; expires: number }>(
        call,
        { account, idempotencyKey, request, ttlMs: KEY_TTL_MS },
        async (record) => {
          const code: Code = { secret: generateSecret(), digits, expires: Date.now() + ttlMs, failures: 0 };
          const response = { code: generateSync(hotp(code)), expires: code.expires };
          const condition = await storageLimit.enter(call.namespace, codes, `${account}/`);
          const recorded = record(response);
          const writes = [...recorded, { set: keyOf(account, subject), value: code, ttlMs, ...condition }];
          const result = await codes.commit(writes);
          // `failed` is the index of the write whose condition did not hold. This index is the
          // code.
          if (!result.committed && result.failed === recorded.length) throw storageLimit.full();
          return result.committed ? response : undefined;
        },
      );
      return { code: made.code, expires: toTimestamp(made.expires) };
    },

    async validate({ subject, code, idempotencyKey }, call) {
      const account = accountOf(call, "Codes");
      checkText("subject", subject, SUBJECT);
      if (!/^\d{6,8}$/.test(code)) throw invalidArgument("code: must have 6 to 8 digits");
      const codes = call.store<Code>("codes");
      const key = keyOf(account, subject);
      const request = [subject, code];
      const valid = await withIdempotencyKey<boolean>(
        call,
        { account, idempotencyKey, request, ttlMs: KEY_TTL_MS },
        async (record) => {
          const entry = await codes.getEntry(key);
          const right = entry !== undefined && isRight(entry.value, code);
          const write = afterAttempt(key, entry, right);
          const { committed } = await codes.commit([write, ...record(right)]);
          if (committed && "delete" in write) storageLimit.leave(call.namespace, `${account}/`);
          return committed ? right : undefined;
        },
      );
      return { valid };
    },
  }),
];

function keyOf(account: string, subject: string): string {
  return `${account}/${createHash("sha256").update(subject).digest("base64url")}`;
}

function hotp({ secret, digits }: Code) {
  return { strategy: "hotp", secret, digits, counter: 0 } as const;
}

/** otplib compares in constant time. */
function isRight(code: Code, given: string): boolean {
  return given.length === code.digits && verifySync({ ...hotp(code), token: given }).valid;
}

/**
 * The write after an attempt. The code is deleted after a right attempt, and after too many wrong
 * attempts.
 */
function afterAttempt(key: string, entry: Entry<Code> | undefined, right: boolean): Write {
  if (entry === undefined) return { check: key, ifAbsent: true };
  const { value, version } = entry;
  const failures = value.failures + 1;
  if (right || failures >= MAX_FAILURES) return { delete: key, ifVersion: version };
  const ttlMs = Math.max(1, value.expires - Date.now());
  return { set: key, value: { ...value, failures }, ttlMs, ifVersion: version };
}
