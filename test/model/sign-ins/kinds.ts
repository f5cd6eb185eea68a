/**
 * The requests that give a token for what a client keeps: a code, a refresh token, a session, a
 * JWT, a page of consent. Each runs the real code of the authority.
 */
import { sign as signBytes } from "node:crypto";
import { auth } from "../../../services/auth/endpoints/auth.js";
import { delegation } from "../../../services/auth/endpoints/delegation.js";
import type { IssuerKeys } from "../../../services/auth/jwt/issuer-keys.js";
import { Jwts } from "../../../services/auth/jwt/jwts.js";
import type { Changes } from "../../../services/auth/log/changelog/changes.js";
import type { Journal } from "../../../services/auth/log/changelog/journal.js";
import type { State } from "../../../services/auth/log/state/state.js";
import type { Attempts } from "../../../services/auth/login/attempts.js";
import { pageSessions, startByIssuer } from "../../../services/auth/login/page-sessions.js";
import { Challenges, signedText } from "../../../services/auth/login/session-proof.js";
import { exchange } from "../../../services/auth/oauth/exchange.js";
import { revisionOf } from "../../../services/auth/oauth/known-client.js";
import { fingerprint, loginsEndedOf, seal } from "../../../services/auth/oauth/sealed-request.js";
import { decide, type SignInOptions } from "../../../services/auth/oauth/sign-in.js";
import type { IssuerSession } from "../../../services/auth/people/issuer-session.js";
import type { IssuerSignIns } from "../../../services/auth/people/issuer-sign-in.js";
import { delegationKeyOf } from "../../../src/access/assertions/assertion-keys.js";
import { readAssertion, signAssertion } from "../../../src/access/assertions/caller-assertion.js";
import { hashToken } from "../../../src/call/token.js";
import { StatusError } from "../../../src/errors.js";
import type { CallContext } from "../../../src/gen/portico/auth/v1/delegation.js";
import type { ExchangeRequest } from "../../../src/gen/portico/auth/v1/oauth.js";
import type { BuiltInContext } from "../../../src/rpc/service.js";
import { HASH } from "../../services/auth/open.js";
import {
  CHALLENGE,
  CODE,
  INSTALLATION,
  JWT,
  JWT_KEYS,
  PAGE_KEY,
  REFRESH,
  SERVICE,
  SESSION,
  VERIFIER,
} from "./setup.js";
import { NOW } from "./world.js";

/** What a request has led to. */
export interface Outcome {
  /** SHA-256 of the token that it gave. */
  readonly token?: Buffer | undefined;
  /** Whether it was refused because of an earlier use, which ends all. */
  readonly wasUsed?: boolean;
}

export interface Kind {
  /** Whether it gives a token once. */
  readonly once: boolean;
  /** The request, with what it needs from the state before. */
  readonly prepare: (state: State) => (changes: Changes) => Promise<Outcome>;
  readonly isAlive: (state: State, token: Buffer) => boolean;
}

const from = { address: "192.0.2.1", requestId: "" };
const context = { system: true, clientAddress: from.address, metadata: [] } as unknown as BuiltInContext;
/** The person gives the password that the account had at first. */
const attempts = {
  verify: async (_: unknown, __: string, readHash: () => Promise<typeof HASH | undefined>) =>
    (await readHash())?.hash.equals(HASH.hash) === true,
} as unknown as Attempts;

const isCaller = (state: State, token: Buffer): boolean => state.callerOf(token, NOW) !== undefined;
const isCode = (state: State, token: Buffer): boolean => state.oauth.token(token) !== undefined;

function outcomeOf({ accessToken, description }: { accessToken: string; description: string }): Outcome {
  return { token: accessToken === "" ? undefined : hashToken(accessToken), wasUsed: /used before/.test(description) };
}

/** What an endpoint returned, or threw. */
async function outcomeOfCall(asked: Promise<{ readonly accessToken: string }>): Promise<Outcome> {
  try {
    return outcomeOf({ ...(await asked), description: "" });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return outcomeOf({ accessToken: "", description: error.message });
  }
}

function exchanging(credential: ExchangeRequest["credential"], clientId = "app"): Kind {
  const request = {
    ...{ clientId, clientSecret: "", redirectUri: "http://127.0.0.1/", verifier: VERIFIER },
    ...{ resource: "", scopes: [], ...from },
  };
  const use = async (changes: Changes) => outcomeOf(await exchange(changes, { ...request, credential }));
  return { once: true, prepare: () => use, isAlive: isCaller };
}

/** A request of one of the services that only gateways, or everybody, may call. */
const asking = (ask: (changes: Changes) => Promise<{ readonly accessToken: string }>, once = false): Kind => ({
  once,
  prepare: () => (changes) => outcomeOfCall(ask(changes)),
  isAlive: isCaller,
});

const PERSON = { account: "ann", password: "any", namespace: "" };

/** How a person has signed in by an issuer. */
function signedInBy(state: State): IssuerSession {
  const link = state.people.link({ namespace: "default", issuer: "company", subject: "ann" });
  return { issuer: "company", subject: "ann", revision: Number(link?.revision), until: 0 };
}

/** A person has signed in by an issuer, in a browser with a key. */
const arriving: Kind = {
  once: false,
  isAlive: ({ sessions }, secret) => sessions.session(secret) !== undefined,
  prepare(state) {
    const publicKey = PAGE_KEY.publicKey.export({ format: "der", type: "spki" });
    const person = { namespace: "default", account: "ann", publicKey, by: signedInBy(state) };
    return async (changes) => {
      try {
        return { token: hashToken(await startByIssuer(changes, person, from)) };
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        return {};
      }
    };
  },
};

/** A service has admitted a person's call, and asks for an assertion to call another service. */
const delegating: Kind = {
  once: false,
  // A guard looks up again what may have changed after the revision that an assertion names.
  isAlive(state, assertion) {
    const { revision, sha256, serviceSha256 } = readAssertion(String(assertion)) as CallContext;
    const isNew = Number(revision) >= state.revision;
    return isNew || [sha256, serviceSha256].every((token) => state.callerOf(token, NOW) !== undefined);
  },
  prepare(state) {
    const actingFor = assertionTo("service:front:Front.Buy", state);
    const caller = { enrolment: "front", sha256: hashToken(SERVICE.enrolment).toString("hex") };
    return async (changes) => {
      const journal = { ...changes, follow: () => () => undefined } as unknown as Journal;
      const { issue } = delegation({
        journal,
        leases: { leaseMs: 5_000, confirmed: journal.state.revision },
      }).implementation;
      const request = { resource: "service:orders:Orders.Add", actingFor, namespace: "" };
      try {
        const { context: text } = await issue!(request, { ...context, caller } as unknown as BuiltInContext);
        return { token: Buffer.from(text) };
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        return {};
      }
    };
  },
};

/** As a gateway signs it for a call by the person. */
function assertionTo(resource: string, state: State): string {
  const sha256 = hashToken(SERVICE.caller);
  const [root] = state.assertionKeys("gateway");
  const key = { generation: Number(root!.generation), secret: root!.key };
  const told: CallContext = {
    ...{ resource, namespace: "default", namespaceId: "", caller: state.callerOf(sha256, NOW), sha256 },
    ...{ service: "", serviceSha256: Buffer.alloc(0), generation: root!.generation },
    ...{ expires: BigInt(NOW + 5_000), revision: BigInt(state.revision) },
  };
  return signAssertion(told, key, delegationKeyOf(key));
}

/** A person has signed in, by a password or an issuer, and consents. */
function consenting(isByIssuer: boolean): Kind {
  return {
    once: true,
    isAlive: isCode,
    prepare(state) {
      const sealed = seal(state, {
        ...{
          grant: "consented",
          namespace: "default",
          account: "ann",
          expires: NOW + 1_000,
          clientName: "",
          clientRevision: revisionOf(state, "app"),
          device: "",
        },
        password: fingerprint(state.account("default", "ann")?.password),
        loginsEnded: loginsEndedOf(state.account("default", "ann")),
        by: isByIssuer ? signedInBy(state) : undefined,
        request: {
          clientId: "app",
          redirectUri: "http://127.0.0.1/",
          challenge: CHALLENGE,
          scopes: [],
          resource: "",
          state: "",
        },
      });
      const decision = { sealed, denied: false, resources: [], days: 30, clientName: "", ...from };
      return async (changes) => {
        const { code } = await decide({ changes } as unknown as SignInOptions, decision);
        return { token: code === "" ? undefined : hashToken(code) };
      };
    },
  };
}

/** The people of these logins and sessions sign in by a password. */
const NO_ISSUERS = {} as IssuerSignIns;

const authOf = (changes: Changes) => auth({ changes, attempts, issuers: NO_ISSUERS }).implementation;
const sessionsOf = (changes: Changes) => pageSessions({ changes, attempts, issuers: NO_ISSUERS }).implementation;

/** A page has its cookie, its key and a challenge. */
const renewing: Kind = {
  once: false,
  isAlive: isCaller,
  prepare({ contextSecret: secret }) {
    const challenges = new Challenges({ secret, installation: INSTALLATION, now: () => NOW });
    const challenge = challenges.create(hashToken(SESSION));
    const key = { key: PAGE_KEY.privateKey, dsaEncoding: "ieee-p1363" } as const;
    const proof = { challenge, signature: signBytes("sha256", signedText(INSTALLATION, challenge), key) };
    return (changes) => {
      const { createToken } = sessionsOf(changes);
      return outcomeOfCall(createToken!({ secret: SESSION, proof, ...from }, context));
    };
  },
};

export const KINDS = {
  "a code is exchanged": exchanging({ $case: "code", value: CODE.grant }),
  "a device code is exchanged": exchanging({ $case: "deviceCode", value: CODE.device }),
  "a grant is refreshed": exchanging({ $case: "refreshToken", value: REFRESH.grant }),
  "a grant by an issuer is refreshed": exchanging({ $case: "refreshToken", value: REFRESH.issuerGrant }),
  "a login is refreshed": asking((changes) => authOf(changes).refresh!({ refreshToken: REFRESH.login }, context), true),
  "a page renews its token": renewing,
  "a person logs in": asking((changes) => authOf(changes).login!(PERSON, context)),
  "a person signs in on a page": asking(async (changes) => {
    const publicKey = PAGE_KEY.publicKey.export({ format: "der", type: "spki" });
    const { start } = sessionsOf(changes);
    return (await start!({ ...PERSON, publicKey, ...from }, context)).tokens;
  }),
  "a person consents": consenting(false),
  "a person of an issuer consents": consenting(true),
  "a person of an issuer comes back to a page": arriving,
  "a service calls for a person": delegating,
  "a JWT is exchanged": {
    once: false,
    isAlive: isCaller,
    prepare: () => async (changes) => {
      const jwts = new Jwts({ changes, keys: JWT_KEYS as unknown as IssuerKeys });
      return outcomeOf(await jwts.exchange({ jwt: await JWT, scopes: [], resource: "", ...from }));
    },
  },
  "a JWT is accepted": {
    once: false,
    isAlive: isCaller,
    prepare: () => async (changes) => {
      const jwts = new Jwts({ changes, keys: JWT_KEYS as unknown as IssuerKeys });
      const jwt = await JWT;
      return { token: (await jwts.accept(jwt)) ? hashToken(jwt) : undefined };
    },
  },
} satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;
