// A session's key is proven by a signature over a fresh challenge, which counts once.

import { generateKeyPairSync, sign, webcrypto } from "node:crypto";
import t from "tap";
import { Challenges, sessionKey, signedText } from "../../../services/auth/login/session-proof.js";

const MINUTE = 60_000;
const SESSION = Buffer.alloc(32, 1);
const OTHER_SESSION = Buffer.alloc(32, 2);
const SECRET = Buffer.alloc(32, 3);
const P256 = { name: "ECDSA", namedCurve: "P-256" } as const;

/** A key as a browser makes it: its private part cannot be exported. */
async function browserKey() {
  const { privateKey, publicKey } = await webcrypto.subtle.generateKey(P256, false, ["sign", "verify"]);
  const key = sessionKey(Buffer.from(await webcrypto.subtle.exportKey("spki", publicKey)))!;
  const signed = async (text: Buffer) =>
    Buffer.from(await webcrypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, text));
  return { key, signed };
}

/** Authorities of one installation, and the clock that they share. */
function authority(options: { installation?: string; secret?: Buffer; maxUsed?: number } = {}) {
  const clock = { now: 1_000_000.25 };
  const challenges = (more = options) =>
    new Challenges({ secret: SECRET, installation: "one", now: () => clock.now, ...more });
  return { clock, challenges };
}

/** What is done to a right proof, and whether it is then accepted. */
const cases = [
  { name: "a right proof", accepted: true },
  { name: "a proof just before the challenge expires", after: MINUTE - 1, accepted: true },
  { name: "a challenge that has expired", after: MINUTE, accepted: false },
  { name: "a challenge from the authority's future", after: -1, accepted: false },
  { name: "a challenge of another session", madeFor: OTHER_SESSION, accepted: false },
  { name: "a challenge made with another secret", madeBy: { secret: OTHER_SESSION }, accepted: false },
  { name: "a signature for another installation", signedFor: "two", accepted: false },
  { name: "a signature by another key", stranger: true, accepted: false },
  { name: "a signature that is cut off", cut: 63, accepted: false },
  { name: "no signature", cut: 0, accepted: false },
  { name: "a challenge in another spelling", suffix: "=", accepted: false },
  { name: "no challenge", challenge: "", accepted: false },
  { name: "a full memory of used challenges", accepting: { maxUsed: 0 }, accepted: false },
];

for (const { name, accepted, ...how } of cases) {
  t.test(`${name} is ${accepted ? "accepted" : "refused"}`, async (t) => {
    const { clock, challenges } = authority();
    const { key, signed } = await browserKey();
    const signer = how.stranger ? await browserKey() : { signed };
    const made = how.challenge ?? challenges(how.madeBy).create(how.madeFor ?? SESSION);
    const challenge = made + (how.suffix ?? "");
    const signature = (await signer.signed(signedText(how.signedFor ?? "one", challenge))).subarray(0, how.cut);
    clock.now += how.after ?? 0;
    t.equal(challenges(how.accepting).accept(SESSION, key, { challenge, signature }), accepted);
  });
}

t.test("a challenge counts once, and a refused proof does not use it up", async (t) => {
  const { challenges } = authority();
  const one = challenges();
  const { key, signed } = await browserKey();
  const challenge = one.create(SESSION);
  const signature = await signed(signedText("one", challenge));
  t.notOk(one.accept(SESSION, key, { challenge, signature: Buffer.alloc(64) }));
  t.ok(one.accept(SESSION, key, { challenge, signature }));
  t.notOk(one.accept(SESSION, key, { challenge, signature }));
});

t.test("expired challenges leave the memory of used ones", async (t) => {
  const { clock, challenges } = authority({ maxUsed: 1 });
  const one = challenges();
  const { key, signed } = await browserKey();
  const prove = async () => {
    const challenge = one.create(SESSION);
    return one.accept(SESSION, key, { challenge, signature: await signed(signedText("one", challenge)) });
  };
  t.same([await prove(), await prove()], [true, false]);
  clock.now += MINUTE;
  t.ok(await prove());
});

t.test("only ECDSA on P-256 is a session's key", async (t) => {
  const der = { format: "der", type: "spki" } as const;
  const keys = {
    "P-256": generateKeyPairSync("ec", { namedCurve: "P-256" }),
    secp256k1: generateKeyPairSync("ec", { namedCurve: "secp256k1" }),
    "P-384": generateKeyPairSync("ec", { namedCurve: "P-384" }),
    RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    Ed25519: generateKeyPairSync("ed25519"),
  };
  for (const [name, { publicKey }] of Object.entries(keys)) {
    t.equal(sessionKey(publicKey.export(der)) !== undefined, name === "P-256", name);
  }
  t.equal(sessionKey(Buffer.alloc(91)), undefined, "bytes that are no key");
  const spki = Buffer.from(keys["P-256"].publicKey.export(der));
  t.equal(sessionKey(Buffer.concat([spki, spki])), undefined, "a key with more bytes");
  const text = signedText("one", "x");
  const asn1 = sign("sha256", text, keys["P-256"].privateKey);
  const one = new Challenges({ secret: SECRET, installation: "one", now: () => 0 });
  const proof = { challenge: one.create(SESSION), signature: asn1 };
  t.notOk(one.accept(SESSION, sessionKey(spki)!, proof), "a signature in ASN.1");
});
