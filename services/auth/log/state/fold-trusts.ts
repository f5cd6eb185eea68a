/**
 * How the events of issuers and trusts change the state. A version that does not know them accepts
 * no JWT and none of their tokens.
 */
import { timestampMs } from "../../../../src/time.js";
import { type EventFolds, tokensRevoked } from "./event-folds.js";
import { removePeople } from "./fold-people.js";

type Events = "issuerCreated" | "issuerDeleted" | "trustCreated" | "trustDeleted" | "trustTokenSet";

export const TRUST_FOLD: Pick<EventFolds, Events> = {
  issuerCreated: ({ trusts, namespaces }, { issuer }, created) => {
    if (issuer === undefined || !namespaces.has(issuer.namespace)) return {};
    if (trusts.issuer(issuer.namespace, issuer.name) !== undefined) return {};
    trusts.putIssuer({ ...issuer, created });
    return { record: ["issuer created", `${issuer.name}: ${issuer.url}`] };
  },
  issuerDeleted: (state, { namespace, name }) => {
    if (state.trusts.issuer(namespace, name) === undefined) return {};
    const changes = [
      ...removePeople(state, namespace, name),
      ...tokensRevoked(state.trusts.removeIssuer(namespace, name)),
    ];
    return { changes, record: ["issuer deleted", name] };
  },
  trustCreated: (state, { trust }, created) => {
    const { trusts } = state;
    if (trust === undefined || state.account(trust.namespace, trust.account) === undefined) return {};
    if (trusts.issuer(trust.namespace, trust.issuer) === undefined) return {};
    if (trusts.trust(trust.namespace, trust.name) !== undefined) return {};
    trusts.putTrust({ ...trust, created });
    return { record: ["trust created", `${trust.name}: ${trust.subject} is ${trust.account}`] };
  },
  trustDeleted: ({ trusts }, { namespace, name }) => {
    if (trusts.trust(namespace, name) === undefined) return {};
    return { changes: tokensRevoked(trusts.removeTrust(namespace, name)), record: ["trust deleted", name] };
  },
  trustTokenSet: ({ trusts }, { token }, time) => {
    if (token === undefined) return {};
    const { namespace, trust: name, subject, bearer } = token;
    const before = trusts.token(token.sha256);
    if (before?.revoked) return {};
    if (token.revoked) {
      if (before === undefined) return {};
      trusts.putToken(token);
      return { changes: tokensRevoked([token.sha256]), record: ["token of a trust revoked", `${name}: ${token.jti}`] };
    }
    if (trusts.trust(namespace, name)?.account !== token.account) return {};
    const changes = tokensRevoked(trusts.putToken(token, timestampMs(time)));
    return { changes, record: [bearer ? "JWT accepted" : "JWT exchanged for a token", `${name}: ${subject}`] };
  },
};
