/**
 * How the events of people who sign in by issuers change the state. Scopes that groups give are
 * scopes of the account, so rules and guards need not know groups. The link knows which of them the
 * account has by groups only, and takes those away when the groups or the issuer are gone.
 */
import type { Timestamp } from "../../../../src/gen/google/protobuf/timestamp.js";
import type { PersonLink } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { Change } from "../../../../src/gen/portico/auth/v1/policy.js";
import { type EventFolds, tokensRevoked } from "./event-folds.js";
import { accountChanged } from "./fold-accounts.js";
import type { Person } from "./people-table.js";
import type { State } from "./state.js";

type Events = "personLinked" | "personSignedIn" | "personRead" | "personReading" | "personUnlinked";

/** What an issuer has said about a person. */
interface Said extends Person {
  readonly scopes: readonly string[];
  readonly refreshToken: string;
}

export const PEOPLE_FOLD: Pick<EventFolds, Events> = {
  personLinked: (state, { link }, created) => {
    if (link === undefined || state.people.link(link) !== undefined) return {};
    const { namespace, issuer, subject, account } = link;
    if (state.trusts.issuer(namespace, issuer)?.signIn === undefined) return {};
    if (state.account(namespace, account) === undefined) return {};
    const made = { scopes: [], created, refreshToken: "", revision: BigInt(state.revision), reading: "" };
    state.people.putLink({ ...link, ...made });
    return { record: ["account linked", `${account}: ${issuer}:${subject}`] };
  },
  personSignedIn: (state, said, time) => {
    const link = state.people.link(said);
    if (link === undefined || state.people.isUsed(said.attemptSha256)) return {};
    state.people.use({ sha256: said.attemptSha256, expires: said.attemptExpires });
    // The token by which a reading is under way is replaced.
    const reading = said.refreshToken === "" ? link.reading : "";
    const changes = read(state, { ...link, reading }, said, time);
    return { changes, record: ["signed in by an issuer", nameOf(link)] };
  },
  personRead: (state, said, time) => {
    const link = state.people.link(said);
    return link === undefined ? {} : { changes: read(state, link, said, said.notAsked ? link.read : time) };
  },
  personReading: (state, { reading, ...person }) => {
    const link = state.people.link(person);
    if (link !== undefined) state.people.putLink({ ...link, reading });
    return {};
  },
  personUnlinked: (state, person) => {
    const link = state.people.link(person);
    if (link === undefined) return {};
    return { changes: removePerson(state, link), record: ["account unlinked", nameOf(link)] };
  },
};

/** The account has from now on the scopes that the person's groups give, and its own. */
function read(state: State, link: PersonLink, said: Said, time: Timestamp | undefined): Change[] {
  const { namespace } = link;
  const account = state.account(namespace, link.account);
  if (account === undefined) return [];
  const own = account.scopes.filter((scope) => !link.scopes.includes(scope));
  const scopes = said.scopes.filter((scope) => !own.includes(scope));
  state.people.putLink({ ...link, scopes, read: time, refreshToken: said.refreshToken || link.refreshToken });
  const next = [...own, ...scopes];
  if (next.length === account.scopes.length && next.every((scope) => account.scopes.includes(scope))) return [];
  state.setAccount(namespace, { ...account, scopes: next });
  return [accountChanged(namespace, link.account)];
}

/** Ends what came of an issuer that is deleted; returns the changes for guards. */
export function removePeople(state: State, namespace: string, issuer: string): Change[] {
  return state.people.linksBy(namespace, issuer).flatMap((link) => removePerson(state, link));
}

/** Ends a link, with what came of it. */
function removePerson(state: State, link: PersonLink): Change[] {
  const changes = read(state, link, { ...link, scopes: [] }, link.read);
  state.people.removeLink(link);
  const grants = state.oauth.grantsBy(link).flatMap(({ id }) => state.oauth.removeGrant(id));
  const sessions = state.sessions.sessionsBy(link).flatMap(({ sha256 }) => state.sessions.remove(sha256));
  return [...changes, ...tokensRevoked([...grants, ...sessions])];
}

function nameOf({ account, issuer, subject }: PersonLink): string {
  return `${account}: ${issuer}:${subject}`;
}
