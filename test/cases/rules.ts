/**
 * Which rules let which caller call what. Each row is decided three times: by the compiled rules,
 * by a scan of all rules, and by a guard with a real authority.
 *
 * A rule is written `scope access resource [priority]`. Its ID is r1, r2 … by its position.
 * `other/` before the scope puts it into the namespace `other`, which has no rules otherwise. In
 * titles, "nobody" is a caller without a token.
 */
export interface Row {
  readonly what: string;
  readonly rules: readonly string[];
  /** The scopes of the caller's account; undefined for a caller without a token. */
  readonly scopes?: readonly string[];
  /** The namespace that issued the caller's token; `default` if omitted. */
  readonly home?: "other";
  /** The namespace that the call names. */
  readonly asked?: string;
  /** The endpoint that is called; `service:helloworld:Helloworld.Call` if omitted. */
  readonly resource?: string;
  /** 200 granted, 401 unauthorized, 403 forbidden. */
  readonly expect: 200 | 401 | 403;
  /**
   * IDs of the matching rules, in the order in which they are examined; only in rows that test
   * this.
   */
  readonly matched?: readonly string[];
  /**
   * Why the authority refuses the rules or scopes of the row. Such a row does not run with a guard.
   */
  readonly impossible?: string;
}

const STREAM = "service:helloworld:Helloworld.Stream";
const OTHER_SERVICE = "service:greeter:Greeter.Call";

// biome-ignore format: a row a line reads as a table.
export const rows: readonly Row[] = [
  // No rule matches: always 401.
  { what: "no rules, nobody", rules: [], expect: 401, matched: [] },
  { what: "no rules, an account", rules: [], scopes: [], expect: 401, matched: [] },
  { what: "no rules, an administrator", rules: [], scopes: ["admin"], expect: 401 }, // the scope `admin` alone grants no calls
  { what: "rules for another service only", rules: ["<public> granted service:greeter:*"], expect: 401, matched: [] },
  { what: "rules for another type only", rules: ["<public> granted topic:*:*"], expect: 401 },
  { what: "rules for another scope only", rules: ["staff granted *:*:*"], scopes: ["guest"], expect: 401 },

  // Scopes.
  { what: "<public> for nobody", rules: ["<public> granted *:*:*"], expect: 200, matched: ["r1"] },
  { what: "<public> for an account", rules: ["<public> granted *:*:*"], scopes: [], expect: 200 },
  { what: "<public> for an account with scopes", rules: ["<public> granted *:*:*"], scopes: ["staff"], expect: 200 },
  { what: "* for nobody", rules: ["* granted *:*:*"], expect: 401, matched: [] },
  { what: "* for an account without scopes", rules: ["* granted *:*:*"], scopes: [], expect: 200 },
  { what: "* for an account with scopes", rules: ["* granted *:*:*"], scopes: ["staff"], expect: 200 },
  { what: "a scope for nobody", rules: ["staff granted *:*:*"], expect: 401 },
  { what: "a scope for an account that lacks it", rules: ["staff granted *:*:*"], scopes: [], expect: 401 },
  { what: "a scope for an account that holds it", rules: ["staff granted *:*:*"], scopes: ["staff"], expect: 200 },
  { what: "a scope among several", rules: ["b granted *:*:*"], scopes: ["a", "b", "c"], expect: 200 },
  { what: "a scope by the start of its name", rules: ["staff granted *:*:*"], scopes: ["staff2"], expect: 401 },
  { what: "a scope in other case", rules: ["Staff granted *:*:*"], scopes: ["staff"], expect: 401 }, // unlike resources
  { what: "a scope beyond ASCII", rules: ["équipe granted *:*:*"], scopes: ["équipe"], expect: 200 },
  { what: "several rules, each for another scope", rules: ["a granted *:*:*", "b granted *:*:*"], scopes: ["b"], expect: 200, matched: ["r2"] },
  { what: "a scope named like a part of objects", rules: ["constructor granted *:*:*"], scopes: ["staff"], expect: 401 },
  { what: "a scope named __proto__, held", rules: ["__proto__ granted *:*:*"], scopes: ["__proto__"], expect: 200 },
  // Scopes that look like the two special ones give an account no additional access …
  { what: "an account with a scope called *", rules: ["* granted *:*:*"], scopes: ["*"], expect: 200, matched: ["r1"], impossible: "scope" },
  { what: "an account with a scope called <public>", rules: ["<public> granted *:*:*"], scopes: ["<public>"], expect: 200, matched: ["r1"], impossible: "scope" },
  // … and `*` in a rule is not a pattern for scopes.
  { what: "an account with a scope called *, rule for a scope", rules: ["staff granted *:*:*"], scopes: ["*"], expect: 401, impossible: "scope" },
  { what: "a rule for a scope that looks like a pattern", rules: ["st* granted *:*:*"], scopes: ["staff"], expect: 401, impossible: "rule" },

  // Literal resources.
  { what: "the endpoint itself", rules: ["<public> granted service:helloworld:Helloworld.Call"], expect: 200 },
  { what: "another endpoint of the service", rules: ["<public> granted service:helloworld:Helloworld.Call"], resource: STREAM, expect: 401 },
  { what: "an endpoint whose name is longer", rules: ["<public> granted service:helloworld:Helloworld.Call"], resource: "service:helloworld:Helloworld.CallBack", expect: 401 },
  { what: "an endpoint whose name is shorter", rules: ["<public> granted service:helloworld:Helloworld.CallBack"], expect: 401 },
  { what: "the short name of an endpoint", rules: ["<public> granted service:helloworld:Call"], expect: 401 }, // only canonical names count
  { what: "a dot is no wildcard", rules: ["<public> granted service:helloworld:Helloworld.Call"], resource: "service:helloworld:HelloworldXCall", expect: 401 },

  // Case does not matter in resources.
  { what: "a rule in lower case", rules: ["<public> granted service:helloworld:helloworld.call"], expect: 200 },
  { what: "a rule in upper case", rules: ["<public> granted SERVICE:HELLOWORLD:HELLOWORLD.CALL"], expect: 200 },
  { what: "a prefix in upper case", rules: ["<public> granted SERVICE:HELLO*:*"], expect: 200 },
  { what: "a service in mixed case", rules: ["<public> granted service:Greeter:*"], resource: OTHER_SERVICE, expect: 200 },
  { what: "letters that only look alike", rules: ["<public> granted service:hеlloworld:*"], expect: 401, impossible: "rule" }, // a Cyrillic е

  // Wildcards.
  { what: "* as type", rules: ["<public> granted *:helloworld:Helloworld.Call"], expect: 200 },
  { what: "* as name", rules: ["<public> granted service:*:Helloworld.Call"], expect: 200 },
  { what: "* as endpoint", rules: ["<public> granted service:helloworld:*"], expect: 200 },
  { what: "* as endpoint, another service", rules: ["<public> granted service:helloworld:*"], resource: OTHER_SERVICE, expect: 401 },
  { what: "* as name and endpoint, another type", rules: ["<public> granted service:*:*"], resource: "topic:helloworld:x", expect: 401 },
  { what: "* everywhere, another type", rules: ["<public> granted *:*:*"], resource: "topic:news:read", expect: 200 },

  // A literal that ends in `*`.
  { what: "the start of an endpoint", rules: ["<public> granted service:helloworld:Helloworld.*"], expect: 200 },
  { what: "the start of an endpoint, cut in a word", rules: ["<public> granted service:helloworld:Hello*"], resource: STREAM, expect: 200 },
  { what: "the whole of an endpoint and a *", rules: ["<public> granted service:helloworld:Helloworld.Call*"], expect: 200 }, // `*` also matches the empty text
  { what: "more than the whole of an endpoint", rules: ["<public> granted service:helloworld:Helloworld.CallB*"], expect: 401 },
  { what: "a start that differs at its end", rules: ["<public> granted service:helloworld:Helloworld.S*"], expect: 401 },
  { what: "a start that occurs later in the name", rules: ["<public> granted service:helloworld:world.*"], expect: 401 },
  { what: "the start of a service", rules: ["<public> granted service:hello*:*"], expect: 200 },
  { what: "the start of a service, another service", rules: ["<public> granted service:hello*:*"], resource: OTHER_SERVICE, expect: 401 },
  { what: "the start of a type", rules: ["<public> granted serv*:helloworld:*"], expect: 200 },
  { what: "starts in all three places", rules: ["<public> granted s*:h*:h*"], expect: 200 },
  { what: "starts of several lengths", rules: ["<public> granted service:h*:*", "<public> granted service:hello*:*", "<public> granted service:hellox*:*"], expect: 200, matched: ["r1", "r2"] },
  { what: "a start that is longer than the name", rules: ["<public> granted service:helloworld:*", "<public> denied service:helloworldwide*:* 9"], expect: 200, matched: ["r1"] },
  { what: "* within a literal", rules: ["<public> granted service:hello*world:*"], expect: 401, impossible: "rule" },

  // Priority.
  { what: "the higher priority grants", rules: ["<public> granted *:*:* 1", "<public> denied *:*:*"], expect: 200, matched: ["r1", "r2"] },
  { what: "the higher priority denies nobody", rules: ["<public> granted *:*:*", "<public> denied *:*:* 1"], expect: 401, matched: ["r2", "r1"] },
  { what: "the higher priority denies an account", rules: ["<public> granted *:*:*", "<public> denied *:*:* 1"], scopes: [], expect: 403, matched: ["r2", "r1"] },
  { what: "below zero is below the default", rules: ["<public> granted *:*:* -1", "<public> denied *:*:*"], scopes: [], expect: 403 },
  { what: "two below zero", rules: ["<public> granted *:*:* -1", "<public> denied *:*:* -2"], scopes: [], expect: 200 },
  { what: "the lowest and the highest priority", rules: ["<public> granted *:*:* 2147483647", "<public> denied *:*:* -2147483648"], expect: 200 },
  { what: "priorities are numbers, not text", rules: ["<public> granted *:*:* 10", "<public> denied *:*:* 9"], expect: 200 },
  { what: "a broad rule of higher priority beats an exact one", rules: ["* granted *:*:* 5", "* denied service:helloworld:Helloworld.Call 4"], scopes: [], expect: 200 },
  { what: "a rule for everyone of higher priority beats one for a scope", rules: ["<public> denied *:*:* 2", "admin granted *:*:* 1"], scopes: ["admin"], expect: 403 },

  // Equal priorities: DENIED overrides GRANTED, however exact the rules are, in any order.
  { what: "a tie, denied first", rules: ["* denied *:*:*", "* granted *:*:*"], scopes: [], expect: 403, matched: ["r1", "r2"] },
  { what: "a tie, granted first", rules: ["* granted *:*:*", "* denied *:*:*"], scopes: [], expect: 403, matched: ["r2", "r1"] },
  { what: "a tie of exact granted and broad denied", rules: ["* granted service:helloworld:Helloworld.Call", "* denied *:*:*"], scopes: [], expect: 403 },
  { what: "a tie of a scope granted and everyone denied", rules: ["staff granted *:*:*", "<public> denied *:*:*"], scopes: ["staff"], expect: 403 },
  { what: "a tie at another resource does not count", rules: ["* granted *:*:*", "* denied service:greeter:*"], scopes: [], expect: 200 },
  { what: "a tie of equal granted rules", rules: ["* granted *:*:*", "* granted *:*:*"], scopes: [], expect: 200, matched: ["r1", "r2"] },

  // 401 or 403: a caller gets 403 only if it is known, and if a GRANTED rule would admit it without
  // a DENIED rule.
  { what: "denied alone, nobody", rules: ["<public> denied *:*:*"], expect: 401, matched: ["r1"] },
  { what: "denied alone, an account", rules: ["<public> denied *:*:*"], scopes: [], expect: 401, matched: ["r1"] }, // no granted one matches
  { what: "denied to everyone, granted to a scope not held", rules: ["<public> denied *:*:*", "staff granted *:*:*"], scopes: [], expect: 401 },
  { what: "denied to everyone, granted to the logged-in, nobody", rules: ["<public> denied *:*:* 1", "* granted *:*:*"], expect: 401 },
  { what: "granted to everyone but a scope, who holds it", rules: ["<public> granted *:*:*", "banned denied *:*:* 1"], scopes: ["banned"], expect: 403 },
  { what: "granted to everyone but a scope, others", rules: ["<public> granted *:*:*", "banned denied *:*:* 1"], scopes: ["staff"], expect: 200 },
  { what: "granted to everyone but a scope, nobody", rules: ["<public> granted *:*:*", "banned denied *:*:* 1"], expect: 200 }, // a rule for a scope cannot ban a caller who does not log in
  { what: "granted to everyone but the logged-in, an account", rules: ["<public> granted *:*:*", "* denied *:*:* 1"], scopes: [], expect: 403 }, // unusual, but the rules say so
  { what: "two scopes, one granted, one denied", rules: ["a granted *:*:*", "b denied *:*:*"], scopes: ["a", "b"], expect: 403 },
  { what: "one endpoint denied, the service granted", rules: ["* granted service:helloworld:*", "* denied service:helloworld:Helloworld.Stream 1"], scopes: [], resource: STREAM, expect: 403 },
  { what: "one endpoint denied, another called", rules: ["* granted service:helloworld:*", "* denied service:helloworld:Helloworld.Stream 1"], scopes: [], expect: 200 },
  { what: "one endpoint granted, all else denied", rules: ["<public> denied *:*:*", "<public> granted service:helloworld:Helloworld.Call 1"], expect: 200 },

  // Namespaces: a rule applies only in its own namespace, and so does a token.
  { what: "a rule of another namespace", rules: ["other/<public> granted *:*:*"], expect: 401, matched: [] },
  { what: "a rule of the namespace asked for", rules: ["other/<public> granted *:*:*"], asked: "other", expect: 200 },
  { what: "a rule of default, another namespace asked for", rules: ["<public> granted *:*:*"], asked: "other", expect: 401 },
  { what: "a namespace that does not exist", rules: ["<public> granted *:*:*"], asked: "nowhere", expect: 401 },
  { what: "the token's own namespace", rules: ["other/* granted *:*:*"], home: "other", scopes: [], expect: 200 },
  { what: "the token's own namespace, not default", rules: ["* granted *:*:*"], home: "other", scopes: [], expect: 401 },
  { what: "the token's own namespace, asked for", rules: ["other/* granted *:*:*"], home: "other", scopes: [], asked: "other", expect: 200 },
  { what: "a token where it does not count, rule for the logged-in", rules: ["other/* granted *:*:*"], scopes: [], asked: "other", expect: 401 },
  { what: "a token where it does not count, rule for its scope", rules: ["other/staff granted *:*:*"], scopes: ["staff"], asked: "other", expect: 401 },
  { what: "a token where it does not count, public rule", rules: ["other/<public> granted *:*:*"], scopes: [], asked: "other", expect: 200 }, // as an unauthenticated caller
  { what: "a token where it does not count, denied", rules: ["other/<public> granted *:*:*", "other/<public> denied *:*:* 1"], scopes: [], asked: "other", expect: 401 }, // an unauthenticated caller never gets 403
  { what: "denied in another namespace", rules: ["<public> granted *:*:*", "other/<public> denied *:*:*"], expect: 200, matched: ["r1"] },
];
