/** A call to try: the request as a form and as JSON, which are the same, and the answer as it comes. */
import type { ComponentChildren, VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { useSession } from "../session/session.js";
import { askToSignIn } from "../session/sign-in.js";
import { useKeptFocus } from "../state/focus.js";
import { Button } from "../ui/button.js";
import { Field } from "../ui/field.js";
import { Tabs } from "../ui/tabs.js";
import type { Exchange } from "./call-progress.js";
import { ConfirmCall } from "./confirm-call.js";
import type { EndpointDocument, Message } from "./document.js";
import { MessageForm } from "./form.js";
import { faultOf, parseExact, READS_EXACTLY, textWith } from "./json-text.js";
import { Refused, refusedField } from "./refused-field.js";
import { AnswerView } from "./response-view.js";
import { withoutSecrets } from "./secrets.js";
import type { Endpoint } from "./services.js";
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
  readonly described: EndpointDocument | undefined;
  readonly call: TryItState;
  readonly onCall: (call: TryItState) => void;
}

/** What is sent before anything is typed. */
export const NOTHING_TYPED = "{}";

export function TryIt({ endpoint, described, call, onCall }: TryItProps) {
  const session = useSession();
  const withToken = session !== undefined && !call.asNobody;
  const path = withToken ? endpoint.path : endpoint.path.replace(/^\/v1/, "");
  const target = { path, withToken, namespace: call.namespace || undefined };
  // Where nothing is known of the endpoint, it may be one that takes something away.
  const asks = described?.destructive !== false;
  const Controls = endpoint.clientStreaming ? ConversationControls : CallControls;
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
      <Controls
        target={target}
        text={call.text}
        confirm={
          asks
            ? (onConfirm, onClose) => (
                <ConfirmCall
                  name={endpoint.name}
                  summary={endpoint.summary}
                  withToken={withToken}
                  request={shownRequest(described?.request, call.text)}
                  onConfirm={onConfirm}
                  onClose={onClose}
                />
              )
            : undefined
        }
      >
        <RequestEditor described={described} text={call.text} onText={(text) => onCall({ ...call, text })} />
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
      </Controls>
    </section>
  );
}

function shownRequest(request: Message | undefined, text: string): string {
  return faultOf(text) === undefined ? JSON.stringify(withoutSecrets(request, parseExact(text)), null, 2) : text;
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
  readonly described: EndpointDocument | undefined;
  readonly text: string;
  readonly onText: (text: string) => void;
}

const EDITORS = [
  { id: "form", title: "Form" },
  { id: "json", title: "JSON" },
];

function RequestEditor({ described, text, onText }: RequestEditorProps) {
  return (
    <>
      <RequestInput request={described?.request} text={text} onText={onText} />
      {text === NOTHING_TYPED && hasMembers(described?.example) && (
        <p class="actions">
          <Button small onClick={() => onText(JSON.stringify(described?.example, null, 2))}>
            Fill in the example
          </Button>
        </p>
      )}
    </>
  );
}

function hasMembers(example: unknown): boolean {
  return typeof example === "object" && example !== null && Object.keys(example).length > 0;
}

interface RequestInputProps extends Omit<RequestEditorProps, "described"> {
  readonly request: Message | undefined;
}

function RequestInput({ request, text, onText }: RequestInputProps) {
  const [editor, setEditor] = useState("form");
  // What the form says may be no JSON yet.
  const [form, setForm] = useState<{ readonly text: string; readonly value: unknown }>();
  const fault = faultOf(text);
  const isForm = form?.text === text;
  const write = (value: unknown) => {
    const written = textWith(value);
    setForm({ text: written, value });
    onText(written);
  };
  if (request === undefined || !READS_EXACTLY) return <JsonEditor text={text} fault={fault} onText={onText} />;
  return (
    <Tabs label="Request as" tabs={EDITORS} selected={editor} onSelect={setEditor}>
      {editor === "json" ? (
        <JsonEditor text={text} fault={fault} onText={onText} />
      ) : isForm || fault === undefined ? (
        <MessageForm message={request} path="" value={isForm ? form.value : parseExact(text)} onChange={write} />
      ) : (
        <div class="notice warning">
          <p>The form shows what the JSON says, and that cannot be read now. {fault}</p>
          <p class="actions">
            <Button small onClick={() => setEditor("json")}>
              Correct the JSON
            </Button>
            <Button small onClick={() => onText(NOTHING_TYPED)}>
              Start anew
            </Button>
          </p>
        </div>
      )}
    </Tabs>
  );
}

function JsonEditor({ text, fault, onText }: Omit<RequestInputProps, "request"> & { fault: string | undefined }) {
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
  /** Asks before anything is sent; undefined where there is nothing to ask. */
  readonly confirm: ((onConfirm: () => void, onClose: () => void) => VNode) | undefined;
  /** Where the request is written. */
  readonly children: ComponentChildren;
}

function CallControls({ target, text, confirm, children }: ControlsProps) {
  const { exchange, send, cancel } = useCall();
  const busy = exchange?.state === "open";
  return (
    <CallForm
      exchange={exchange}
      text={text}
      editor={children}
      confirm={confirm}
      onSend={busy ? undefined : () => send(target, text)}
    >
      <Button type="submit" kind="primary" busy={busy}>
        Send
      </Button>
      {busy && <Button onClick={cancel}>Cancel</Button>}
    </CallForm>
  );
}

function ConversationControls({ target, text, confirm, children }: ControlsProps) {
  const { exchange, open, send, end, close } = useConversation();
  const isOpen = exchange?.state === "open";
  const takes = isOpen && exchange.opened && !exchange.ended;
  const onSend = takes ? () => send(text) : isOpen ? undefined : () => open(target);
  return (
    <CallForm exchange={exchange} text={text} editor={children} confirm={confirm} onSend={onSend}>
      <Button type="submit" kind="primary" disabled={isOpen && !takes}>
        {isOpen ? "Send this message" : "Open the stream"}
      </Button>
      {isOpen && (
        <>
          <Button disabled={!takes} onClick={end}>
            No more messages
          </Button>
          <Button onClick={close}>Cancel</Button>
        </>
      )}
    </CallForm>
  );
}

interface CallFormProps {
  readonly exchange: Exchange | undefined;
  readonly text: string;
  readonly editor: ComponentChildren;
  readonly confirm: ControlsProps["confirm"];
  /** Undefined while nothing can be sent. */
  readonly onSend: (() => void) | undefined;
  /** Buttons: the first one sends. */
  readonly children: ComponentChildren;
}

/** The request, what can be done with it, and the answer. */
function CallForm({ exchange, text, editor, confirm, onSend, children }: CallFormProps) {
  const [sent, setSent] = useState("");
  const [asking, setAsking] = useState(false);
  const actions = useRef<HTMLParagraphElement>(null);
  useKeptFocus(actions);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (onSend === undefined) return;
    if (confirm === undefined) send();
    else setAsking(true);
  };
  const send = () => {
    setAsking(false);
    setSent(text);
    onSend?.();
  };
  // Enter sends from a line of text, but not where it begins another line, or chooses.
  const onKeyDown = (event: KeyboardEvent & { readonly currentTarget: HTMLFormElement }) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.currentTarget.requestSubmit();
  };
  return (
    <>
      <form class="stack" onSubmit={onSubmit} onKeyDown={onKeyDown}>
        <Refused.Provider value={sent === text ? refusedField(exchange?.fault) : undefined}>{editor}</Refused.Provider>
        <p class="actions" ref={actions}>
          {children}
          {exchange?.state !== "open" && <span class="soft">or Ctrl+Enter</span>}
        </p>
      </form>
      <AnswerView exchange={exchange} />
      {asking && confirm?.(send, () => setAsking(false))}
    </>
  );
}
