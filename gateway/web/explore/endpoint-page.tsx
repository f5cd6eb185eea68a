/** The page of one endpoint: its request and response on one side, a call to try and its code on the other. */
import { useMemo, useState } from "preact/hooks";
import { useSession } from "../session/session.js";
import { EndpointBadges } from "./badges.js";
import { endpointDocument, type Message, type OpenApi } from "./document.js";
import { FieldTable } from "./field-table.js";
import { Prose } from "./prose.js";
import { EMPTY_REQUEST } from "./request-editor.js";
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
  const [call, setCall] = useState<TryItState>(() => ({
    // An example is shown, but only what was typed is sent.
    text: EMPTY_REQUEST,
    asNobody: false,
    namespace: "",
  }));
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
        </div>
        <div class="endpoint-live">
          <TryIt endpoint={endpoint} described={described} call={call} onCall={setCall} />
          <SnippetTabs endpoint={endpoint} call={call} withToken={withToken} described={described} />
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
