/**
 * People, programs and devices that sign in through any of several authorities while links are cut
 * and authorities killed, and that end what they got. They look for what should not be: a call that
 * is granted after the command that ended its token has returned, and a code or refresh token that
 * gives tokens twice.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type CryptoKey, exportJWK, generateKeyPair } from "jose";
import type { Cluster, Owner } from "./cluster.js";
import {
  AUDIENCE,
  ask,
  endsBy,
  type Held,
  PASSWORD,
  type Place,
  REDIRECT,
  type Reply,
  SIGN_IN_KINDS,
  SIGN_INS,
  type SignInKind,
  tokenIn,
} from "./sign-in-kinds.js";

/** On the loopback address of each authority's machine. */
const ISSUER_PORT = 9_100;
const AT_ONCE = 7;
/** How often a step is tried that a fault makes fail, each time at any gateway. */
const TRIES = 6;
/** How often all gateways are asked again after an end. */
const ROUNDS = 3;

/** What was seen of a kind. */
export interface Counts {
  /** Sign-ins that succeeded. */
  started: number;
  /** Codes and refresh tokens that were used at two gateways at once. */
  raced: number;
  /** Of those, how often both uses gave tokens. */
  twice: number;
  /** Ends that were acknowledged, by a command or by a second use. */
  ended: number;
  /** Uses after an end that were decided. */
  tried: number;
  /** Of those, how many were granted. */
  wrongful: number;
  /** What was refused, or has an unknown outcome. */
  failed: number;
}

export const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

/** Starts the issuer on the machine of each authority. */
export async function startIssuers(owner: Owner, { authorities }: Cluster): Promise<Place["issuer"]> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "first", alg: "ES256" }] });
  for (const { machine } of authorities) {
    const program = [...machine.before, process.execPath, "test/machines/issuer.mjs", `${ISSUER_PORT}`, keys];
    const [command, ...args] = program as [string, ...string[]];
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    owner.teardown(() => child.kill("SIGKILL"));
    await once(child.stdout, "data", { signal: AbortSignal.timeout(10_000) });
  }
  return { url: `http://127.0.0.1:${ISSUER_PORT}`, key: privateKey as CryptoKey };
}

interface Options {
  readonly cluster: Cluster;
  readonly issuer: Place["issuer"];
  readonly random: () => number;
}

/** Signs in and ends it, again and again, until it is stopped. */
export class SignIns {
  readonly seen: Record<SignInKind, Counts>;
  readonly #options: Options;
  readonly #loops: Promise<void>[];
  #count = 0;
  #over = false;

  constructor(options: Options) {
    this.#options = options;
    const none = { started: 0, raced: 0, twice: 0, ended: 0, tried: 0, wrongful: 0, failed: 0 };
    this.seen = Object.fromEntries(SIGN_IN_KINDS.map((kind) => [kind, { ...none }])) as SignIns["seen"];
    this.#loops = Array.from({ length: AT_ONCE }, () => this.#repeat());
  }

  async stop(): Promise<SignIns["seen"]> {
    this.#over = true;
    await Promise.all(this.#loops);
    return this.seen;
  }

  get #gateways(): string[] {
    return this.#options.cluster.gateways.map(({ http }) => http);
  }

  readonly #any = (): string => pick(this.#options.random, this.#gateways);

  async #repeat(): Promise<void> {
    while (!this.#over) {
      const number = this.#count++;
      const kind = SIGN_IN_KINDS[number % SIGN_IN_KINDS.length]!;
      await this.#live(kind, `p${number}`).catch(() => {
        this.seen[kind].failed++;
      });
      // A gateway without an authority refuses at once.
      await sleep(20);
    }
  }

  /** Signs in, uses it, ends it, and uses it again. */
  async #live(kind: SignInKind, name: string): Promise<void> {
    const { random, issuer } = this.#options;
    const counts = this.seen[kind];
    await this.#prepare(kind, name);
    const held = await again(() => SIGN_INS[kind]({ any: this.#any, name, issuer }));
    counts.started++;
    await Promise.all(held.tokens.flatMap((token) => this.#gateways.map((http) => use(http, token))));
    if (held.once && random() < 0.5) {
      if (await this.#race(held, counts)) await this.#check(held, counts);
      return;
    }
    const { admin } = this.#options.cluster;
    const end = pick(random, [...held.ends, ...endsBy(admin.authorization.slice("Bearer ".length), name, kind)]);
    const acknowledged = async (): Promise<void> => {
      const { status } = await end(this.#any());
      if (status !== 200) throw new Error(`the end was answered by ${status}`);
    };
    await again(acknowledged);
    await this.#check(held, counts);
  }

  /** The account, and what the kind needs. */
  async #prepare(kind: SignInKind, name: string): Promise<void> {
    const token = this.#options.cluster.admin.authorization.slice("Bearer ".length);
    const make = (endpoint: string, json: unknown): Promise<void> =>
      again(async () => {
        const { status } = await ask(`${this.#any()}/v1/auth/${endpoint}`, { json, token });
        // It exists already if an earlier try was made, and its response lost.
        if (status !== 200 && status !== 409) throw new Error(`${endpoint} was answered by ${status}`);
      });
    const isOfProgram = kind === "a JWT" || kind === "a token for a JWT";
    await make("Accounts/Create", { name, ...(isOfProgram ? { withoutPassword: true } : { password: PASSWORD }) });
    const isGrant = kind === "a code" || kind === "a grant" || kind === "a device code";
    if (isGrant) await make("Clients/Create", { name, redirectUris: [REDIRECT] });
    if (!isOfProgram) return;
    await make("Issuers/Create", { name, url: this.#options.issuer.url });
    const trust = { name, issuer: name, account: name, audience: AUDIENCE, subject: name, bearer: true };
    await make("Trusts/Create", trust);
  }

  /** Uses up a code or a refresh token at two gateways at once. @returns whether that ended all */
  async #race(held: Held, counts: Counts): Promise<boolean> {
    const replies = await Promise.all([this.#any(), this.#any()].map((http) => held.renew(http)));
    const given = replies.flatMap((reply) => tokenIn(reply) ?? []);
    if (replies.some(({ status }) => status === 0 || status >= 500)) counts.failed++;
    else counts.raced++;
    if (given.length > 1) counts.twice++;
    held.tokens.push(...given);
    return replies.some(wasUsedBefore);
  }

  /** Nothing is granted by what has ended, at any gateway, whatever cut or healed since. */
  async #check(held: Held, counts: Counts): Promise<void> {
    counts.ended++;
    for (let round = 0; round < ROUNDS; round++) {
      const uses = this.#gateways.flatMap((http) => [
        ...held.tokens.map((token) => use(http, token)),
        held.renew(http),
      ]);
      const decided = (await Promise.all(uses)).filter(({ status }) => status > 0 && status < 500);
      counts.tried += decided.length;
      counts.wrongful += decided.filter(({ status }) => status === 200).length;
      await sleep(this.#options.random() * 500);
    }
  }
}

function use(http: string, token: string): Promise<Reply> {
  return ask(`${http}/v1/id/Generate`, { token });
}

/** Tries a step again while it fails. */
async function again<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await step();
    } catch (error) {
      if (tries === TRIES) throw error;
      await sleep(100 * tries);
    }
  }
}

function wasUsedBefore({ body }: Reply): boolean {
  return /was used before/.test(JSON.stringify(body));
}
