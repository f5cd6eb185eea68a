/**
 * The page of one endpoint: its request as a form, and beside it Send, the response and the code,
 * which stay in sight. On a narrow screen buttons choose between documentation, form and code.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSession } from "../session/session.js";
import { isShown, replaceAddress, useEntry } from "../state/router.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { copy } from "../ui/copy-button.js";
import { announce } from "../ui/status.js";
import { EndpointBadges } from "./badges.js";
import { type EndpointDocument, endpointDocument, type Field, type Message, type OpenApi } from "./document.js";
import { Prose } from "./prose.js";
import { RecentCalls } from "./recent-calls.js";
import { fragmentOf, MAX_FRAGMENT, restoreCall, saveDraft, storableCall, type TryItState } from "./request-memory.js";
import { canFill, type RestPath, restKey, restPathsOf } from "./rest.js";
import { RestPaths } from "./rest-paths.js";
import { type Endpoint, pageOf } from "./services.js";
import { SnippetTabs } from "./snippet-tabs.js";
import { TryIt } from "./try-it.js";

interface EndpointPageProps {
  readonly service: string;
  readonly endpoint: Endpoint;
  readonly document: OpenApi | undefined;
}

const PARTS = [
  { id: "docs", title: "Docs" },
  { id: "try", title: "Try" },
  { id: "code", title: "Code" },
];

export function EndpointPage({ service, endpoint, document }: EndpointPageProps) {
  const session = useSession();
  const described = useMemo(() => document && endpointDocument(document, endpoint.path), [document, endpoint.path]);
  const paths = useMemo(
    () => (document === undefined ? [] : restPathsOf(document, endpoint.name)),
    [document, endpoint.name],
  );
  const fillable = paths.filter(canFill);
  const { call, setCall, problem } = useRememberedCall(endpoint, described, fillable);
  const [part, setPart] = useState("try");
  const chosen = paths.find((one) => restKey(one) === call.rest);
  const choose = (path: RestPath) => {
    setCall({ ...call, rest: restKey(path) });
    setPart("try");
  };
  const withToken = session === undefined ? !endpoint.open : !call.asNobody;
  return (
    <article class="endpoint-page" data-part={part}>
      <header class="page-head">
        <div class="endpoint-title">
          <h1>{titleOf(endpoint.name)}</h1>
          <Button small onClick={() => share(service, endpoint, storableCall(described, call))}>
            Share
          </Button>
        </div>
        <div class="path">
          <code>{endpoint.name}</code>
          <EndpointBadges endpoint={endpoint} />
        </div>
        <Prose text={endpoint.summary} />
        {problem !== undefined && (
          <p class="notice warning" role="status">
            {problem}
          </p>
        )}
      </header>
      <PartChoice part={part} onPart={setPart} />
      <TryIt
        service={service}
        endpoint={endpoint}
        described={described}
        paths={fillable}
        call={call}
        onCall={setCall}
        onSent={() => setPart("try")}
        docs={
          <div class="endpoint-reference">
            <MessageSection title="Request" message={described?.request} stream={endpoint.clientStreaming} />
            <MessageSection title="Response" message={described?.response} stream={endpoint.serverStreaming} />
            <RestPaths paths={paths} chosen={chosen} onChoose={choose} />
            <RecentCalls />
          </div>
        }
        code={<SnippetTabs endpoint={endpoint} call={call} withToken={withToken} described={described} rest={chosen} />}
      />
    </article>
  );
}

interface PartChoiceProps {
  readonly part: string;
  readonly onPart: (part: string) => void;
}

/** Shown on a narrow screen only. */
function PartChoice({ part, onPart }: PartChoiceProps) {
  return (
    <nav class="endpoint-parts" aria-label="Parts of the page">
      {PARTS.map(({ id, title }) => (
        <button key={id} type="button" aria-pressed={id === part} onClick={() => onPart(id)}>
          {title}
        </button>
      ))}
    </nav>
  );
}

/** The name of the method in words: `Place order` for `Kitchen.PlaceOrder`. */
function titleOf(name: string): string {
  const words = name.slice(name.lastIndexOf(".") + 1).match(/[A-Z]+(?![a-z])|[A-Z]?[^A-Z_]+|[A-Z]/g) ?? [name];
  return words.map((word, index) => (index > 0 && !/^[A-Z]{2,}$/.test(word) ? word.toLowerCase() : word)).join(" ");
}

async function share(service: string, endpoint: Endpoint, call: TryItState | undefined): Promise<void> {
  if (call === undefined) return announce("Not copied. Correct the request first.", "bad");
  const fragment = fragmentOf(call);
  if (fragment.length > MAX_FRAGMENT) {
    const size = Math.ceil(fragment.length / 1024);
    return announce(`Not copied. This request has ${size} kB, and a link may have 8 kB. It stays in this tab.`, "bad");
  }
  const isCopied = await copy(location.origin + pageOf(service, endpoint.name) + fragment);
  if (isCopied) announce("Copied the link to this request, without secrets");
  else announce("The browser did not let the page copy. Copy the address of the page.", "bad");
}

/** How long after the last key the address changes. Browsers limit the number of changes. */
const ADDRESS_DELAY_MS = 250;

/** The call of the entry of the history that is shown. What is typed is stored at once. */
function useRememberedCall(endpoint: Endpoint, described: EndpointDocument | undefined, paths: readonly RestPath[]) {
  const entry = useEntry();
  const [restored] = useState(() =>
    restoreCall({ entry, page: endpoint.path, fragment: location.hash }, described, paths),
  );
  const [call, setState] = useState(restored.call);
  const setCall = (next: TryItState) => {
    setState(next);
    const stored = storableCall(described, next);
    if (stored !== undefined) saveDraft(entry, endpoint.path, stored);
  };
  const isFirst = useRef(true);
  useEffect(() => {
    // Without a document, the secrets in the call are not known.
    const stored = storableCall(described, call);
    if (stored === undefined) return;
    const fragment = fragmentOf(stored);
    const shown = fragment.length > MAX_FRAGMENT ? "" : fragment;
    const write = () => {
      // Another page may have been opened a moment ago, and this one still be drawn.
      if (isShown(entry) && shown !== location.hash) replaceAddress(location.pathname + location.search + shown);
    };
    // A link that had a token or a damaged request does not stay in the address.
    if (isFirst.current) write();
    isFirst.current = false;
    const timer = setTimeout(write, ADDRESS_DELAY_MS);
    return () => clearTimeout(timer);
  }, [call, described]);
  return { call, setCall, problem: restored.problem };
}

interface MessageSectionProps {
  readonly title: string;
  readonly message: Message | undefined;
  readonly stream: boolean;
}

function MessageSection({ title, message, stream }: MessageSectionProps) {
  if (message === undefined) return null;
  return (
    <details class="message">
      <summary>
        {title}{" "}
        <span class="soft">
          {stream && "A stream of "}
          <code>{message.name}</code>
        </span>
      </summary>
      {message.description !== "" && <Prose text={message.description} />}
      <FieldTable message={message} label={`${title}: ${message.name}`} />
    </details>
  );
}

/**
 * A message's fields. The fields of an inner message are shown on demand, because a message may
 * contain itself.
 */
function FieldTable({ message, label }: { readonly message: Message; readonly label: string }) {
  if (message.fields.length === 0) return <p class="soft">No fields.</p>;
  return (
    <ul class="fields" aria-label={label}>
      {message.fields.map((field) => (
        <FieldRow key={field.name} field={field} others={othersOf(message, field.name)} />
      ))}
    </ul>
  );
}

function othersOf({ choices }: Message, name: string): readonly string[] {
  return (choices.find((choice) => choice.includes(name)) ?? []).filter((other) => other !== name);
}

function FieldRow({ field, others }: { readonly field: Field; readonly others: readonly string[] }) {
  const { name, description, deprecated, required, values, meaning } = field;
  return (
    <li class="field-row">
      <p class="field-head">
        <code class="field-name">{name}</code>
        <span class="field-type">{typeOf(field)}</span>
        {required && <Badge tone="warning">required</Badge>}
        {deprecated && <Badge tone="warning">deprecated</Badge>}
      </p>
      {description !== "" && <Prose text={description} />}
      {others.length > 0 && (
        <p class="soft">
          Not together with <Names names={others} />
        </p>
      )}
      {values.length > 0 && (
        <p class="soft">
          One of <Names names={values} />
        </p>
      )}
      {meaning !== "" && <Prose text={meaning} />}
      {field.message && <Inside field={field} read={field.message} />}
    </li>
  );
}

function Inside({ field, read }: { readonly field: Field; readonly read: () => Message }) {
  const [open, setOpen] = useState(false);
  const message = open ? read() : undefined;
  return (
    <>
      <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "Show"} the fields of {field.type}
      </button>
      {message && (
        <div class="inside">
          {message.description !== "" && <Prose text={message.description} />}
          <FieldTable message={message} label={`Fields of ${field.name}`} />
        </div>
      )}
    </>
  );
}

function Names({ names }: { readonly names: readonly string[] }) {
  return (
    <>
      {names.map((name, index) => (
        <>
          {index > 0 && ", "}
          <code key={name}>{name}</code>
        </>
      ))}
    </>
  );
}

function typeOf({ cardinality, type }: Field): string {
  if (cardinality === "list") return `list of ${type}`;
  return cardinality === "map" ? `map to ${type}` : type;
}
