/** Tabs with the code of a call, one for each language. */
import { useState } from "preact/hooks";
import { CopyButton } from "../ui/copy-button.js";
import { Tabs } from "../ui/tabs.js";
import { Code } from "./code.js";
import type { EndpointDocument } from "./document.js";
import { errorOf, parseExact, roundingError } from "./json-text.js";
import type { TryItState } from "./request-memory.js";
import { boundCall, type RestPath } from "./rest.js";
import { withoutSecrets } from "./secrets.js";
import type { Endpoint } from "./services.js";
import { type Shape, snippetsFor } from "./snippets.js";

interface SnippetTabsProps {
  readonly endpoint: Endpoint;
  readonly call: Pick<TryItState, "text" | "namespace">;
  readonly withToken: boolean;
  /** Undefined if there is no document. */
  readonly described: Pick<EndpointDocument, "request" | "takesBytes" | "returnsBytes"> | undefined;
  /** The REST path that is called; undefined for a call by name. */
  readonly rest?: RestPath | undefined;
}

/** Maximum characters of a request that code is written for. */
const MAX_CODE = 100_000;
const TOO_LONG = "This request is too long to be written into code. Have the code read it from a file.";

/** The chosen language. It stays the same for the next endpoint. */
let lastChoice = "curl";

export function SnippetTabs({ endpoint, call, withToken, described, rest }: SnippetTabsProps) {
  const [chosen, setChosen] = useState(lastChoice);
  const bound = rest && boundCall(rest, call.text, described?.request, true);
  const jsonError = errorOf(call.text) ?? roundingError(call.text);
  const error =
    call.text.length > MAX_CODE
      ? TOO_LONG
      : jsonError === undefined
        ? bound?.error
        : `Correct the JSON of the request first. ${jsonError}`;
  const snippets = snippetsFor({
    origin: location.origin,
    path: endpoint.path,
    shape: shapeOf(endpoint),
    withToken,
    takesBytes: described?.takesBytes,
    returnsBytes: rest?.returnsBytes ?? described?.returnsBytes,
    rest: bound?.request,
    body: error === undefined ? withoutSecrets(described?.request, parseExact(call.text)) : {},
    namespace: call.namespace === "" ? undefined : call.namespace,
  });
  const shown = snippets.find(({ id }) => id === chosen) ?? snippets[0]!;
  const select = (id: string) => {
    lastChoice = id;
    setChosen(id);
  };
  return (
    <section class="panel snippets">
      <header class="panel-head">
        <h2>Call it from code</h2>
        {error === undefined && <CopyButton text={shown.code} what={`the ${shown.title} code`} />}
      </header>
      <Tabs label="Language" tabs={snippets} selected={shown.id} onSelect={select}>
        {error === undefined ? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus.
          <pre class="code-block" tabIndex={0}>
            <Code text={shown.code} comment={shown.comment} />
          </pre>
        ) : (
          <p class="notice warning">{error}</p>
        )}
      </Tabs>
      {endpoint.clientStreaming && !described?.takesBytes && (
        <p class="hint">
          This endpoint takes a stream, so it needs a WebSocket client. curl, Python and Go come without one.
        </p>
      )}
      {withToken && shown.id !== "browser" && (
        <p class="hint">
          The token is read from the variable <code>PORTICO_TOKEN</code>; <code>portico user token</code> prints yours.
        </p>
      )}
    </section>
  );
}

export function shapeOf({ clientStreaming, serverStreaming }: Endpoint): Shape {
  if (clientStreaming) return serverStreaming ? "bidi_streaming" : "client_streaming";
  return serverStreaming ? "server_streaming" : "unary";
}
