// Whatever bytes come, and however they are cut, the port finds the same requests as node:http with
// its own parser, rejects the same bytes, and closes the same connections. `differences.ts`
// explains the intended differences.
import t from "tap";
import { FULL } from "../../../support/full.js";
import { type Case, differencesOf } from "./compare.js";
import { corpus } from "./corpus.js";
import { Mutations } from "./mutations.js";

/** In the sample of CI always the same seed; SEED= chooses another. */
const SEED = Number(process.env.SEED ?? (FULL ? Date.now() % 2 ** 31 : 16));
const MUTATED = FULL ? 30_000 : 1_000;

/**
 * The version of the port's parser, as far as the tests can see. Later versions accept and reject
 * some other bytes.
 */
const LLHTTP = /^9\.3\./;
const { llhttp = "" } = process.versions;
const skip = LLHTTP.test(llhttp) ? false : `this Node's llhttp is ${llhttp}`;

const cases = corpus();
console.error(`note: seed ${SEED}, llhttp ${llhttp}`);

t.test("the corpus, sent at once and cut anywhere", { skip }, async (t) => {
  const mutations = new Mutations(SEED, cases);
  const whole = cases.map(({ title, bytes }) => ({ title, chunks: [bytes] }));
  const cut = cases.map(({ title, bytes }) => ({ title: `${title}, cut`, chunks: mutations.cut(bytes) }));
  t.same(await differencesOf([...whole, ...cut]), []);
});

t.test("the corpus, a byte at a time", { skip }, async (t) => {
  // Short cases have all kinds of bytes, and long ones would take too long byte by byte.
  const short = cases.filter(({ bytes }) => bytes.length < (FULL ? 1_000 : 60));
  t.same(
    await differencesOf(
      short.map(({ title, bytes }) => ({ title, chunks: [...bytes].map((byte) => Buffer.of(byte)) })),
    ),
    [],
  );
});

t.test("bytes mutated from the corpus, cut anywhere", { skip }, async (t) => {
  function* mutated(): Generator<Case> {
    const mutations = new Mutations(SEED, cases);
    for (let number = 0; number < MUTATED; number++) {
      yield { title: `number ${number} of seed ${SEED}`, chunks: mutations.cut(mutations.next()) };
    }
  }
  t.same(await differencesOf(mutated()), []);
});
