/**
 * Sign-in of people by an issuer (OpenID Connect Core 1.0 §3.1). The gateway sends the browser to
 * the issuer and gets it back; here, where the client's secret is, the code is exchanged, and the
 * person becomes an account (accounts.ts).
 */
import type { Logger } from "pino";
import { qualifiedName } from "../../../src/contract/names.js";
import { Code, StatusError } from "../../../src/errors.js";
import type { PersonLink } from "../../../src/gen/portico/auth/log/v1/log.js";
import type {
  BeginIssuerSignInRequest,
  BeginIssuerSignInResponse,
  EndIssuerSignInRequest,
} from "../../../src/gen/portico/auth/v1/oauth.js";
import { BoundedMap } from "../../../src/memory/bounded-map.js";
import { timestampMs, toTimestamp } from "../../../src/time.js";
import { IssuerError, NoResponseError } from "../jwt/issuer-fetch.js";
import type { IssuerKeys } from "../jwt/issuer-keys.js";
import { JwtError } from "../jwt/verify.js";
import type { Changes } from "../log/changelog/changes.js";
import { type LogEvent, requestOrigin } from "../log/changelog/decide.js";
import type { Person } from "../log/state/people-table.js";
import type { State } from "../log/state/state.js";
import { isSame } from "../oauth/seal.js";
import { accountOfPerson, scopesOfGroups } from "./accounts.js";
import { type Attempt, createAttempt, hashAttempt, openAttempt, sealAttempt, secretsOf } from "./attempt.js";
import type { IssuerSession } from "./issuer-session.js";
import {
  authorizationUrl,
  type Identity,
  identify,
  identifyAgain,
  isErrorCode,
  isFrom,
  NoLongerError,
} from "./openid.js";
import { type OwnReading, Readings } from "./readings.js";
import { callbackPathOf, type SignInIssuer, signInIssuer } from "./settings.js";

/** For how long an issuer vouches that gives no refresh token, in milliseconds. */
const SIGN_IN_LIFE = 60 * 60_000;
/** Maximum number of people for whom issuers are asked at the same time. */
const MAX_RUNNING = 50;

const BEGIN_AGAIN =
  "This sign-in was begun in another browser, was used already, or took too long. Begin again where you came from";

/** A person who has signed in. */
export interface SignedInPerson {
  readonly namespace: string;
  readonly account: string;
  readonly attempt: Attempt;
  readonly by: IssuerSession;
}

interface IssuerSignInOptions {
  readonly changes: Changes;
  readonly keys: IssuerKeys;
  readonly log: Logger;
  /** In milliseconds by a clock that is never set. */
  readonly elapsed: () => number;
}

export class IssuerSignIns {
  readonly #changes: Changes;
  readonly #keys: IssuerKeys;
  readonly #log: Logger;
  readonly #readings: Readings;
  /** Attempts that came back here, whatever came of them. */
  readonly #tried = new BoundedMap<string, true>(10_000);
  /** Running requests of people whose groups are read again. */
  readonly #reading = new Map<string, Promise<void>>();
  #running = 0;

  constructor({ changes, keys, log, elapsed }: IssuerSignInOptions) {
    this.#changes = changes;
    this.#keys = keys;
    this.#log = log;
    this.#readings = new Readings(changes, elapsed);
  }

  async begin(asked: BeginIssuerSignInRequest): Promise<BeginIssuerSignInResponse> {
    const refuse = (error: string): BeginIssuerSignInResponse => ({ error, location: "", attempt: "" });
    await this.#changes.sync();
    const { state, now } = this.#changes;
    const issuer = signInIssuer(state, asked.issuer);
    if (issuer === undefined) return refuse("Nobody signs in by this issuer");
    const redirectUri = asked.publicUrl + callbackPathOf(issuer);
    const { request, userCode, requestId } = asked;
    const publicKey = asked.publicKey.toString("base64url");
    const attempt = createAttempt(issuer, { redirectUri, request, userCode, publicKey }, now);
    const text = sealAttempt(state, attempt);
    if (text === undefined) return refuse("The request of the program is too long for a sign-in by an issuer");
    try {
      const secrets = secretsOf(state, attempt);
      return {
        error: "",
        location: await authorizationUrl(issuer, secrets, { redirectUri, keys: this.#keys }),
        attempt: text,
      };
    } catch (error) {
      return refuse(this.#wordsOf(issuer, error, requestId));
    }
  }

  /** For what a person signs in; undefined if the attempt is not ours, or too old. */
  attempt(text: string): Attempt | undefined {
    const { state, now } = this.#changes;
    return openAttempt(state, text, now);
  }

  /** @returns the person, or why nobody has signed in, in words */
  async end(asked: EndIssuerSignInRequest): Promise<SignedInPerson | string> {
    await this.#changes.sync();
    const { state, now } = this.#changes;
    const attempt = openAttempt(state, asked.attempt, now);
    const issuer = signInIssuer(state, asked.issuer);
    if (attempt === undefined || issuer === undefined || !isOf(attempt, issuer)) return BEGIN_AGAIN;
    const secrets = secretsOf(state, attempt);
    if (!isSame(asked.state, secrets.state)) return BEGIN_AGAIN;
    if (this.#tried.get(attempt.id) || state.people.isUsed(hashAttempt(attempt))) return BEGIN_AGAIN;
    this.#tried.set(attempt.id, true);
    const { code, redirectUri } = { code: asked.code, redirectUri: attempt.redirectUri };
    try {
      // Before the code is sent anywhere: it may be another issuer's (RFC 9700 §4.4).
      if (!(await isFrom(issuer, asked.iss, this.#keys))) {
        return `Another issuer than ${issuer.name} has sent you back. Begin again where you came from`;
      }
      if (asked.error !== "") return refusedThere(issuer, asked.error);
      if (code === "") return BEGIN_AGAIN;
      const options = { keys: this.#keys, now };
      const identity = await this.#bounded(() => identify(issuer, { code, redirectUri, secrets }, options));
      return await this.#record(attempt, identity, asked);
    } catch (error) {
      return this.#wordsOf(issuer, error, asked.requestId);
    }
  }

  async #record(attempt: Attempt, identity: Identity, asked: EndIssuerSignInRequest): Promise<SignedInPerson | string> {
    const { namespace, issuer } = attempt;
    const { subject, refreshToken } = identity;
    let outcome: SignedInPerson | string = BEGIN_AGAIN;
    const decide = (state: State, now: number): LogEvent[] => {
      const vouching = signInIssuer(state, asked.issuer);
      outcome = BEGIN_AGAIN;
      const attemptSha256 = hashAttempt(attempt);
      if (vouching === undefined || !isOf(attempt, vouching) || state.people.isUsed(attemptSha256)) return [];
      const found = accountOfPerson(state, vouching, identity);
      if ("refused" in found) {
        outcome = found.refused;
        return [];
      }
      const link = state.people.link({ namespace, issuer, subject });
      const isAskedAgain = refreshToken !== "" || (link?.refreshToken ?? "") !== "";
      const revision = link === undefined ? state.revision + 1 : Number(link.revision);
      const by = { issuer, subject, revision, until: isAskedAgain ? 0 : now + SIGN_IN_LIFE };
      outcome = { namespace, account: found.account, attempt, by };
      const value = {
        ...{ namespace, issuer, subject, refreshToken, attemptSha256 },
        ...{ scopes: scopesOfGroups(vouching.signIn, identity), attemptExpires: toTimestamp(attempt.expires) },
      };
      return [...found.events, { $case: "personSignedIn", value }];
    };
    const known = this.#changes.state.people.link({ namespace, issuer, subject });
    // No account has a name with a colon.
    const author = { namespace, account: known?.account ?? `issuer:${issuer}`, origin: requestOrigin(asked) };
    // What another group than before no longer gives is gone before the person goes on.
    await this.#changes.settled(await this.#changes.issue(author, decide));
    return outcome;
  }

  /**
   * Reads the groups of a person again, where the issuer lets us. Ends the person's grants and
   * sessions where it vouches no longer.
   * @throws {StatusError} UNAVAILABLE (rejects) if it cannot be asked
   */
  async renew({ namespace, issuer, subject }: Person, requestId: string): Promise<void> {
    const link = issuer === "" ? undefined : this.#changes.state.people.link({ namespace, issuer, subject });
    if (link === undefined || link.refreshToken === "") return;
    const key = `${namespace} ${issuer} ${subject}`;
    // The same one for all of the person's grants that are renewed at the moment.
    const running = this.#reading.get(key);
    const reading =
      running ?? this.#bounded(() => this.#read(link, requestId)).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    await reading;
  }

  async #read(known: PersonLink, requestId: string): Promise<void> {
    const { namespace, issuer: name } = known;
    const issuer = signInIssuer(this.#changes.state, qualifiedName({ namespace, name }));
    if (issuer === undefined) return;
    let reading: OwnReading | undefined;
    try {
      // First, so that nothing is written for an issuer that is known not to respond.
      await this.#keys.metadata(issuer.url);
      reading = await this.#readings.begin(known);
      if (reading !== undefined) await this.#readings.end(reading, await this.#ask(issuer, reading));
    } catch (error) {
      throw new StatusError(Code.UNAVAILABLE, this.#wordsOf(issuer, error, requestId));
    } finally {
      if (reading !== undefined) await this.#readings.giveUp(reading);
    }
  }

  /** @returns what follows from what the issuer says */
  async #ask(issuer: SignInIssuer, { link }: OwnReading): Promise<(state: State) => LogEvent[]> {
    const { namespace, issuer: name, subject } = link;
    try {
      const again = await identifyAgain(issuer, link, { keys: this.#keys, now: this.#changes.now });
      const { refreshToken } = again;
      const said = { scopes: scopesOfGroups(issuer.signIn, again), refreshToken, notAsked: false };
      return () => [{ $case: "personRead", value: { namespace, issuer: name, subject, ...said } }];
    } catch (error) {
      if (error instanceof NoLongerError) return (state) => endedWith(state, link);
      throw error;
    }
  }

  /**
   * Why nobody has signed in, for the person.
   * @throws {StatusError} what is no problem of the issuer
   */
  #wordsOf({ name }: { readonly name: string }, error: unknown, requestId: string): string {
    if (error instanceof StatusError) throw error;
    if (error instanceof JwtError) return `What ${name} says about you is refused: ${error.message}`;
    const asked = { err: error, issuer: name, requestId };
    if (error instanceof IssuerError || error instanceof NoResponseError) {
      this.#log.warn(asked, "an issuer by which people sign in cannot be used");
      return error instanceof IssuerError
        ? `${name} cannot be used at the moment: ${error.message}`
        : `${name} cannot be reached at the moment. Try again`;
    }
    this.#log.error(asked, "a sign-in by an issuer has failed");
    const where = requestId === "" ? "" : ` of the request ${requestId}`;
    return `Portico could not sign you in, which is no fault of yours or of ${name}. An administrator finds the cause in the log${where}`;
  }

  async #bounded<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#running >= MAX_RUNNING)
      throw new StatusError(Code.UNAVAILABLE, "too many people sign in at the moment; try again");
    this.#running++;
    try {
      return await ask();
    } finally {
      this.#running--;
    }
  }
}

function isOf({ namespace, issuer, issuerCreated }: Attempt, { namespace: own, name, created }: SignInIssuer): boolean {
  return namespace === own && issuer === name && issuerCreated === timestampMs(created);
}

function refusedThere({ name }: SignInIssuer, error: string): string {
  return `You have not signed in at ${name}${isErrorCode(error) ? ` (${error})` : ""}. Begin again where you came from`;
}

/** What ends when the issuer vouches for a person no longer. */
function endedWith({ oauth, sessions }: State, link: PersonLink): LogEvent[] {
  const cause = `${link.issuer} vouches no longer`;
  return [
    ...oauth.grantsBy(link).map(({ id }): LogEvent => ({ $case: "grantEnded", value: { id, cause } })),
    ...sessions.sessionsBy(link).map(({ sha256 }): LogEvent => ({ $case: "pageSessionEnded", value: { sha256 } })),
  ];
}
