/** The page with the list of services, searched as the visitor types. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSession } from "../session/session.js";
import { askToSignIn } from "../session/sign-in.js";
import { useTitle } from "../state/router.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { ArrowIcon, SearchIcon } from "../ui/icons.js";
import { EmptyState } from "../ui/notice.js";
import { CallersBadge } from "./badges.js";
import { firstSentence } from "./first-sentence.js";
import { chunks, type Found, search, wordsOf } from "./search.js";
import { isOwn, pageOf, readFields, type Service } from "./services.js";

const TAGS: readonly { readonly name: string; readonly has: (service: Service) => boolean }[] = [
  { name: "Open to everyone", has: ({ endpoints }) => endpoints.some(({ open }) => open) },
  { name: "Needs a token", has: ({ endpoints }) => endpoints.some(({ open }) => !open) },
  { name: "Streams", has: ({ endpoints }) => endpoints.some((one) => one.clientStreaming || one.serverStreaming) },
];

/**
 * The last search. It is stored so that the same list is shown when the visitor comes back from a
 * service.
 */
let lastQuery = "";

export function ServiceList({ services }: { readonly services: readonly Service[] }) {
  useTitle("Explore");
  const [query, setQuery] = useState(lastQuery);
  const [tag, setTag] = useState<string>();
  const fields = useFields(services, query !== "");
  const type = (text: string) => {
    lastQuery = text;
    setQuery(text);
  };
  const clear = () => {
    type("");
    setTag(undefined);
  };
  const shown = useMemo(() => {
    const tagged = services.filter((service) => TAGS.every(({ name, has }) => name !== tag || has(service)));
    return search(tagged, query, (service, endpoint) => fields.get(`${service} ${endpoint}`));
  }, [services, query, tag, fields]);
  const words = wordsOf(query);
  const groups = groupsOf(shown);
  const drawn = useGrowing(shown);
  return (
    <section class="page explore">
      <header class="page-head">
        <h1>Explore the services</h1>
        <p class="lead">Find a service, try it here, and call it with plain JSON over HTTP.</p>
      </header>
      <search class="search">
        <SearchBox query={query} onQuery={type} />
        {!services.every(isOwn) && <TagChoice tag={tag} onTag={setTag} services={services} />}
      </search>
      <p class="hidden" role="status">
        {query !== "" || tag !== undefined ? `${shown.length} of ${services.length} services` : ""}
      </p>
      {services.every(isOwn) && <NothingToCall />}
      {groups.map(
        ({ title, found }) =>
          found.length > 0 && (
            <section key={title} class="service-group">
              <h2>{title}</h2>
              <ul class="entries">
                {found.slice(0, drawn).map((one) => (
                  <ServiceCard key={one.service.name} found={one} words={words} />
                ))}
              </ul>
            </section>
          ),
      )}
      {shown.length === 0 && services.length > 0 && <NothingFound onClear={clear} />}
      {!services.every(isOwn) && <SignedOutHint />}
    </section>
  );
}

function SearchBox({ query, onQuery }: { readonly query: string; readonly onQuery: (query: string) => void }) {
  const box = useRef<HTMLInputElement>(null);
  // An effect after the page is drawn would miss a key that is pressed as soon as the box is
  // visible.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = (event.target as Element).closest?.("input, textarea, select, dialog");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      // The search over every page has the same key.
      event.stopPropagation();
      box.current?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <div class="search-box">
      <SearchIcon />
      <input
        ref={box}
        type="search"
        aria-label="Search services, endpoints and fields"
        placeholder="Search names and fields"
        autocomplete="off"
        spellcheck={false}
        value={query}
        onInput={(event) => onQuery(event.currentTarget.value)}
      />
      <span class="key" aria-hidden="true">
        /
      </span>
    </div>
  );
}

interface TagChoiceProps {
  readonly tag: string | undefined;
  readonly onTag: (tag: string | undefined) => void;
  readonly services: readonly Service[];
}

function TagChoice({ tag, onTag, services }: TagChoiceProps) {
  const useful = TAGS.map((one) => ({ ...one, count: services.filter(one.has).length })).filter(
    ({ count }) => count > 0,
  );
  return (
    <fieldset class="tags">
      <legend class="hidden">Show only</legend>
      {useful.map(({ name, count }) => (
        <button
          key={name}
          type="button"
          class="tag"
          aria-pressed={name === tag}
          onClick={() => onTag(name === tag ? undefined : name)}
        >
          {name} <span class="count">{count}</span>
        </button>
      ))}
    </fieldset>
  );
}

/** First the services without a subject, then the subjects by name, then Portico's own services. */
function groupsOf(shown: readonly Found<Service>[]) {
  const bySubject = new Map([["", [] as Found<Service>[]]]);
  for (const found of shown) {
    if (isOwn(found.service)) continue;
    const { subject } = found.service;
    bySubject.set(subject, [...(bySubject.get(subject) ?? []), found]);
  }
  const subjects = [...bySubject].sort(([one], [other]) => one.localeCompare(other));
  return [
    ...subjects.map(([subject, found]) => ({ title: subject || "Services", found })),
    { title: "Portico itself", found: shown.filter(({ service }) => isOwn(service)) },
  ];
}

/** Services of a group that are drawn at once. More would make typing slow. */
const AT_ONCE = 50;

/**
 * How many services of each group are drawn: a few at once, and then more, until all are, so that
 * the page stays quick while a visitor types.
 */
function useGrowing(shown: readonly unknown[]): number {
  const [drawn, setDrawn] = useState({ of: shown, count: AT_ONCE });
  const count = drawn.of === shown ? drawn.count : AT_ONCE;
  useEffect(() => {
    if (count >= shown.length) return;
    const timer = setTimeout(() => setDrawn({ of: shown, count: count + AT_ONCE }), GROW_MS);
    return () => clearTimeout(timer);
  }, [shown, count]);
  return count;
}

/** A key that was pressed meanwhile comes first. */
const GROW_MS = 20;

function NothingFound({ onClear }: { readonly onClear: () => void }) {
  return (
    <EmptyState title="Nothing matches">
      <p>Each word must be in a name, a description or a field. Try fewer or shorter words.</p>
      <Button onClick={onClear}>Show all services</Button>
    </EmptyState>
  );
}

/** Shown if the visitor may call only Portico's own services. */
function NothingToCall() {
  const session = useSession();
  if (session === undefined) {
    return (
      <EmptyState title="Only Portico's own services are open to everyone here">
        <p>Sign in to see what your account may call.</p>
        <Button kind="primary" onClick={askToSignIn}>
          Sign in
        </Button>
      </EmptyState>
    );
  }
  if (session.scopes.includes("admin")) {
    return (
      <EmptyState title="No service runs yet">
        <p>
          <code>portico new greeter</code> creates one, which joins as soon as it runs.
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Your account may call no service yet">
      <p>
        An administrator grants it by a rule, such as one with the scope <code>*</code> and the resource{" "}
        <code>service:helloworld:*</code>.
      </p>
    </EmptyState>
  );
}

function SignedOutHint() {
  const session = useSession();
  if (session !== undefined) return null;
  return (
    <p class="soft signed-out">
      You see what is open to everyone.{" "}
      <button type="button" class="link" onClick={askToSignIn}>
        Sign in
      </button>{" "}
      to see everything your account may call.
    </p>
  );
}

/**
 * Names of fields, fetched at the first search. Until they have arrived, and if they do not arrive,
 * only names and texts are searched.
 */
function useFields(services: readonly Service[], wanted: boolean): ReadonlyMap<string, readonly string[]> {
  const [fields, setFields] = useState<ReadonlyMap<string, readonly string[]>>(NO_FIELDS);
  useEffect(() => {
    if (!wanted) return;
    let gone = false;
    readFields().then(
      (found) => gone || setFields(found),
      () => {},
    );
    return () => {
      gone = true;
    };
  }, [services, wanted]);
  return fields;
}

const NO_FIELDS: ReadonlyMap<string, readonly string[]> = new Map();

const MAX_MATCHES = 6;

interface ServiceCardProps {
  readonly found: Found<Service>;
  readonly words: readonly string[];
}

/** A service in the list, with the endpoints and fields in which words of the search were found. */
function ServiceCard({ found: { service, endpoints }, words }: ServiceCardProps) {
  const summary = firstSentence(service.summary).replaceAll("`", "");
  return (
    <li class="entry service">
      <div class="service-head">
        <a class="entry-link" href={pageOf(service.name)}>
          <Marked text={service.name} words={words} />
        </a>
        <ServiceFacts service={service} />
        <ArrowIcon />
      </div>
      <p class="service-summary">{summary === "" ? "No description." : <Marked text={summary} words={words} />}</p>
      {endpoints.length > 0 && (
        <ul class="service-matches">
          {endpoints.slice(0, MAX_MATCHES).map((match) => (
            <EndpointMatch key={match.name} service={service} match={match} words={words} />
          ))}
          {endpoints.length > MAX_MATCHES && <li class="soft">and {endpoints.length - MAX_MATCHES} more endpoints</li>}
        </ul>
      )}
    </li>
  );
}

function ServiceFacts({ service: { endpoints } }: { readonly service: Service }) {
  const open = endpoints.filter((endpoint) => endpoint.open).length;
  const all = endpoints.length;
  return (
    <span class="service-facts">
      <span class="soft">
        {all} {all === 1 ? "endpoint" : "endpoints"}
      </span>
      {endpoints.every(({ deprecated }) => deprecated) && <Badge tone="warning">Deprecated</Badge>}
      {open > 0 && <CallersBadge open />}
      {open < all && <CallersBadge open={false} />}
    </span>
  );
}

interface EndpointMatchProps {
  readonly service: Service;
  readonly match: Found<Service>["endpoints"][number];
  readonly words: readonly string[];
}

function EndpointMatch({ service, match: { name, fields }, words }: EndpointMatchProps) {
  return (
    <li>
      <a href={pageOf(service.name, name)}>
        <Marked text={name} words={words} />
      </a>
      {service.endpoints.some((one) => one.name === name && one.deprecated) && (
        <>
          {" "}
          <Badge tone="warning">Deprecated</Badge>
        </>
      )}
      {fields.length > 0 && (
        <span class="soft">
          {" "}
          with{" "}
          {fields.slice(0, MAX_MATCHES).map((field, index) => (
            <>
              {index > 0 && ", "}
              <code key={field}>
                <Marked text={field} words={words} />
              </code>
            </>
          ))}
        </span>
      )}
    </li>
  );
}

/** A text in which the words of the search are marked. */
function Marked({ text, words }: { readonly text: string; readonly words: readonly string[] }) {
  return (
    <>{chunks(text, words).map((chunk, index) => (index % 2 === 0 ? chunk : <mark key={`${index}`}>{chunk}</mark>))}</>
  );
}
