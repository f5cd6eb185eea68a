/** A call to try: the request as a form and as JSON, which are the same, and the answer as it comes. */
import { useState } from "preact/hooks";
import { useSession } from "../session.js";
import { askToSignIn } from "../sign-in.js";
import { Button } from "../ui/button.js";
import { Field } from "../ui/field.js";
import { Tabs } from "../ui/tabs.js";
import { AnswerView } from "./answer-view.js";
import type { Message } from "./document.js";
import { MessageForm } from "./form.js";
import { faultOf, parseExact } from "./json-text.js";
import type { Endpoint } from "./listing.js";
import { useCall } from "./use-call.js";
import { useConversation } from "./use-conversation.js";

export interface TryItState {
  /** The request, as JSON text. What is in the form is what this says. */
  readonly text: string;
  /** Leaves the token out although somebody is signed in. */
  readonly asNobody: boolean;
  /** Empty: the caller's own. */
  readonly namespace: string;
}

interface TryItProps {
  readonly endpoint: Endpoint;
  readonly request: Message | undefined;
  readonly call: TryItState;
  readonly onCall: (call: TryItState) => void;
}

export function TryIt({ endpoint, request, call, onCall }: TryItProps) {
  const session = useSession();
  const withToken = session !== undefined && !call.asNobody;
  const path = withToken ? endpoint.path : endpoint.path.replace(/^\/v1/, "");
  const target = { path, withToken, namespace: call.namespace || undefined };
  return (
    <section class="panel try-it">
      <header class="panel-head">
        <h2>Try it</h2>
        <CallAs call={call} onCall={onCall} />
      </header>
      {session === undefined && !endpoint.open && (
        <div class="notice">
          <p>This endpoint needs a token.</p>
          <p>
            <Button small kind="primary" onClick={askToSignIn}>
              Sign in
            </Button>
          </p>
        </div>
      )}
      <RequestEditor request={request} text={call.text} onText={(text) => onCall({ ...call, text })} />
      {/* A browser can send no headers with a WebSocket. */}
      {!withToken && !endpoint.clientStreaming && (
        <details class="more">
          <summary>Namespace</summary>
          <Field label="Namespace" hint="Sent as the header Platform-Namespace. Empty means the default one.">
            {(control) => (
              <input
                {...control}
                value={call.namespace}
                placeholder="default"
                autocapitalize="none"
                spellcheck={false}
                onInput={(event) => onCall({ ...call, namespace: event.currentTarget.value.trim() })}
              />
            )}
          </Field>
        </details>
      )}
      {endpoint.clientStreaming ? (
        <ConversationControls target={target} text={call.text} />
      ) : (
        <CallControls target={target} text={call.text} />
      )}
    </section>
  );
}

function CallAs({ call, onCall }: Pick<TryItProps, "call" | "onCall">) {
  const session = useSession();
  if (session === undefined) return <span class="soft">without a token</span>;
  return (
    <label class="call-as">
      <span>Call as</span>
      <select
        value={call.asNobody ? "nobody" : "self"}
        onChange={(event) => onCall({ ...call, asNobody: event.currentTarget.value === "nobody" })}
      >
        <option value="self">{session.account}</option>
        <option value="nobody">nobody (no token)</option>
      </select>
    </label>
  );
}

interface RequestEditorProps {
  readonly request: Message | undefined;
  readonly text: string;
  readonly onText: (text: string) => void;
}

const EDITORS = [
  { id: "form", title: "Form" },
  { id: "json", title: "JSON" },
];

function RequestEditor({ request, text, onText }: RequestEditorProps) {
  const [editor, setEditor] = useState("form");
  const fault = faultOf(text);
  if (request === undefined) return <JsonEditor text={text} fault={fault} onText={onText} />;
  return (
    <Tabs label="Request as" tabs={EDITORS} selected={editor} onSelect={setEditor}>
      {editor === "json" ? (
        <JsonEditor text={text} fault={fault} onText={onText} />
      ) : fault === undefined ? (
        <MessageForm
          message={request}
          value={parseExact(text)}
          onChange={(value) => onText(JSON.stringify(value, null, 2))}
        />
      ) : (
        <div class="notice warning">
          <p>The form shows what the JSON says, and that cannot be read now. {fault}</p>
          <p class="actions">
            <Button small onClick={() => setEditor("json")}>
              Correct the JSON
            </Button>
            <Button small onClick={() => onText("{}")}>
              Start anew
            </Button>
          </p>
        </div>
      )}
    </Tabs>
  );
}

function JsonEditor({ text, fault, onText }: Omit<RequestEditorProps, "request"> & { fault: string | undefined }) {
  return (
    <Field label={<span class="hidden">Request as JSON</span>} error={fault}>
      {(control) => (
        <textarea
          {...control}
          class="mono"
          rows={Math.min(20, Math.max(4, text.split("\n").length))}
          spellcheck={false}
          autocapitalize="none"
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Where a call goes. */
export interface CallTarget {
  readonly path: string;
  readonly withToken: boolean;
  readonly namespace: string | undefined;
}

interface ControlsProps {
  readonly target: CallTarget;
  readonly text: string;
}

function CallControls({ target, text }: ControlsProps) {
  const { exchange, send, cancel } = useCall();
  const busy = exchange?.state === "open";
  return (
    <>
      <p class="actions">
        <Button kind="primary" busy={busy} onClick={() => send(target, text)}>
          Send
        </Button>
        {busy && <Button onClick={cancel}>Cancel</Button>}
      </p>
      <AnswerView exchange={exchange} />
    </>
  );
}

function ConversationControls({ target, text }: ControlsProps) {
  const { exchange, open, send, end, close } = useConversation();
  const isOpen = exchange?.state === "open";
  const takes = exchange?.opened && !exchange.ended;
  return (
    <>
      <p class="actions">
        {!isOpen && (
          <Button kind="primary" onClick={() => open(target)}>
            Open the stream
          </Button>
        )}
        {isOpen && (
          <>
            <Button kind="primary" disabled={!takes} onClick={() => send(text)}>
              Send this message
            </Button>
            <Button disabled={!takes} onClick={end}>
              No more messages
            </Button>
            <Button onClick={close}>Cancel</Button>
          </>
        )}
      </p>
      <AnswerView exchange={exchange} />
    </>
  );
}
