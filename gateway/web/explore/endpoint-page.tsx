/**
 * The page of one endpoint: its request and response on one side, a call to try and its code on the
 * other.
 */
import { useMemo, useRef, useState } from "preact/hooks";
import { useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { EndpointBadges } from "./badges.js";
import { endpointDocument, type Field, type Message, type OpenApi } from "./document.js";
import { Prose } from "./prose.js";
import { EMPTY_REQUEST } from "./request-editor.js";
import { canFill, type RestPath, restKey, restPathsOf } from "./rest.js";
import { RestPaths } from "./rest-paths.js";
import type { Endpoint } from "./services.js";
import { SnippetTabs } from "./snippet-tabs.js";
import { TryIt, type TryItState } from "./try-it.js";

interface EndpointPageProps {
  readonly endpoint: Endpoint;
  readonly document: OpenApi | undefined;
}

export function EndpointPage({ endpoint, document }: EndpointPageProps) {
  const session = useSession();
  const described = useMemo(() => document && endpointDocument(document, endpoint.path), [document, endpoint.path]);
  const paths = useMemo(
    () => (document === undefined ? [] : restPathsOf(document, endpoint.name)),
    [document, endpoint.name],
  );
  const [call, setCall] = useState<TryItState>(() => ({
    // The page shows an example, but sends only what was typed.
    text: EMPTY_REQUEST,
    asNobody: false,
    namespace: "",
    rest: "",
  }));
  const chosen = paths.find((one) => restKey(one) === call.rest);
  const live = useRef<HTMLDivElement>(null);
  const choose = (path: RestPath) => {
    setCall({ ...call, rest: restKey(path) });
    live.current?.scrollIntoView(); // On a phone it is far below.
  };
  const withToken = session === undefined ? !endpoint.open : !call.asNobody;
  return (
    <article class="endpoint-page">
      <header class="page-head">
        <h1 class="mono">{endpoint.name}</h1>
        <div class="path">
          <span class="method">{endpoint.clientStreaming ? "WebSocket" : "POST"}</span>
          <code>{withToken ? endpoint.path : endpoint.path.replace(/^\/v1/, "")}</code>
          <EndpointBadges endpoint={endpoint} />
        </div>
        <Prose text={endpoint.summary} />
      </header>
      <div class="endpoint-columns">
        <div class="endpoint-reference">
          <MessageSection title="Request" message={described?.request} stream={endpoint.clientStreaming} />
          <MessageSection title="Response" message={described?.response} stream={endpoint.serverStreaming} />
          <RestPaths paths={paths} chosen={chosen} onChoose={choose} />
        </div>
        <div class="endpoint-live" ref={live}>
          <TryIt endpoint={endpoint} described={described} paths={paths.filter(canFill)} call={call} onCall={setCall} />
          <SnippetTabs endpoint={endpoint} call={call} withToken={withToken} described={described} rest={chosen} />
        </div>
      </div>
    </article>
  );
}

interface MessageSectionProps {
  readonly title: string;
  readonly message: Message | undefined;
  readonly stream: boolean;
}

function MessageSection({ title, message, stream }: MessageSectionProps) {
  if (message === undefined) return null;
  return (
    <section class="message">
      <div class="message-head">
        <h2>{title}</h2>
        <span class="soft">
          {stream && "A stream of "}
          <code>{message.name}</code>
        </span>
      </div>
      {message.description !== "" && <Prose text={message.description} />}
      <FieldTable message={message} label={`${title}: ${message.name}`} />
    </section>
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
