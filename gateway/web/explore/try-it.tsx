/** Try it: the visitor makes a call from the page, and sees its response as it arrives. */
import type { ComponentChildren, VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { useSession } from "../session/session.js";
import { askToSignIn } from "../session/sign-in.js";
import { useKeptFocus } from "../state/focus.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { SelectField, TextField } from "../ui/field.js";
import { type CallProgress, type CallTarget, useHttpCall, useWebSocketCall } from "./call-progress.js";
import { Code } from "./code.js";
import type { EndpointDocument, Message } from "./document.js";
import { Refused, refusedField } from "./form.js";
import { errorOf, parseExact } from "./json-text.js";
import { Prose } from "./prose.js";
import { RequestEditor } from "./request-editor.js";
import { ResponseView } from "./response-view.js";
import { boundCall, type RestPath, type RestRequest, restKey } from "./rest.js";
import { withoutSecrets } from "./secrets.js";
import type { Endpoint } from "./services.js";

export interface TryItState {
  /** The request, as JSON text. The form shows the same request. */
  readonly text: string;
  /** Whether the call leaves the token out although there is a session. */
  readonly asNobody: boolean;
  /** Empty for the caller's own namespace. */
  readonly namespace: string;
  /** The key of the REST path that is called (`restKey`); empty for a call by name. */
  readonly rest: string;
}

interface TryItProps {
  /** The REST paths of the endpoint that the form can fill in. */
  readonly paths: readonly RestPath[];
  readonly endpoint: Endpoint;
  readonly described: EndpointDocument | undefined;
  readonly call: TryItState;
  readonly onCall: (call: TryItState) => void;
}

export function TryIt({ endpoint, described, paths, call, onCall }: TryItProps) {
  const session = useSession();
  const withToken = session !== undefined && !call.asNobody;
  const path = withToken ? endpoint.path : endpoint.path.replace(/^\/v1/, "");
  const rest = paths.find((one) => restKey(one) === call.rest);
  const bound = rest && boundCall(rest, call.text, described?.request);
  const { method, path: called } = bound?.request ?? { method: "POST", path };
  const target = { method, path: called, withToken, namespace: call.namespace || undefined };
  const body = bound === undefined ? call.text : bodyText(bound.request);
  // The page asks before a DELETE, and before a call of an endpoint without a document, which may
  // remove something.
  const isDelete = (rest === undefined ? paths : [rest]).some((one) => one.method === "DELETE");
  const asks = described?.destructive !== false || isDelete;
  const confirm: ControlsProps["confirm"] = (onConfirm, onClose) => (
    <ConfirmCall
      name={endpoint.name}
      summary={endpoint.summary}
      withToken={withToken}
      request={withoutSecretText(described?.request, call.text)}
      onConfirm={onConfirm}
      onClose={onClose}
    />
  );
  const Controls = endpoint.clientStreaming ? WebSocketControls : HttpControls;
  return (
    <section class="panel try-it">
      <header class="panel-head">
        <h2>Try it</h2>
        <CallAs call={call} onCall={onCall} />
      </header>
      {session === undefined && !endpoint.open && <NeedsToken />}
      {paths.length > 0 && (
        <SelectField
          label="Call"
          options={[["", `POST ${path}, by name`], ...paths.map((one) => [restKey(one), restKey(one)] as const)]}
          value={call.rest}
          onInput={(rest) => onCall({ ...call, rest })}
        />
      )}
      <Controls target={target} text={call.text} body={body} error={bound?.error} confirm={asks ? confirm : undefined}>
        <RequestEditor described={described} text={call.text} onText={(text) => onCall({ ...call, text })} />
        {bound !== undefined && <BoundLine bound={bound} />}
        {/* A browser can send no headers with a WebSocket. */}
        {!withToken && !endpoint.clientStreaming && <NamespaceField call={call} onCall={onCall} />}
      </Controls>
    </section>
  );
}

function bodyText(request: RestRequest | undefined): string | undefined {
  return request?.body === undefined ? undefined : JSON.stringify(request.body, null, 2);
}

/** The request line that is sent, made from the values of the form. */
function BoundLine({ bound: { request, error } }: { readonly bound: ReturnType<typeof boundCall> }) {
  return request === undefined ? (
    <p class="notice warning">{error}</p>
  ) : (
    <output class="path" aria-label="Request line">
      <span class="method">{request.method}</span>
      <code>{request.path}</code>
    </output>
  );
}

function NeedsToken() {
  return (
    <div class="notice">
      <p>This endpoint needs a token.</p>
      <p>
        <Button small kind="primary" onClick={askToSignIn}>
          Sign in
        </Button>
      </p>
    </div>
  );
}

function NamespaceField({ call, onCall }: Pick<TryItProps, "call" | "onCall">) {
  return (
    <details class="more">
      <summary>Namespace</summary>
      <TextField
        label="Namespace"
        hint="Sent as the header Platform-Namespace. Empty means the default one."
        value={call.namespace}
        placeholder="default"
        onInput={(text) => onCall({ ...call, namespace: text.trim() })}
      />
    </details>
  );
}

function withoutSecretText(request: Message | undefined, text: string): string {
  return errorOf(text) === undefined ? JSON.stringify(withoutSecrets(request, parseExact(text)), null, 2) : text;
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

interface ControlsProps {
  readonly target: CallTarget;
  readonly text: string;
  /** The body that is sent: JSON text, or undefined for no body. */
  readonly body: string | undefined;
  /** Why nothing can be sent. */
  readonly error: string | undefined;
  /** Asks before anything is sent; undefined if there is nothing to ask. */
  readonly confirm: ((onConfirm: () => void, onClose: () => void) => VNode) | undefined;
  readonly children: ComponentChildren;
}

function HttpControls({ target, text, body, error, confirm, children }: ControlsProps) {
  const { progress, send, cancel } = useHttpCall();
  const busy = progress?.state === "open";
  return (
    <CallForm
      progress={progress}
      text={text}
      editor={children}
      confirm={confirm}
      onSend={busy || error !== undefined ? undefined : () => send(target, body)}
    >
      <Button type="submit" kind="primary" busy={busy} disabled={error !== undefined}>
        Send
      </Button>
      {busy && <Button onClick={cancel}>Cancel</Button>}
    </CallForm>
  );
}

function WebSocketControls({ target, text, confirm, children }: ControlsProps) {
  const { progress, open, send, end, cancel } = useWebSocketCall();
  const isOpen = progress?.state === "open";
  const takes = isOpen && progress.opened && !progress.ended;
  const onSend = takes ? () => send(text) : isOpen ? undefined : () => open(target);
  return (
    <CallForm progress={progress} text={text} editor={children} confirm={confirm} onSend={onSend}>
      <Button type="submit" kind="primary" disabled={isOpen && !takes}>
        {isOpen ? "Send this message" : "Open the stream"}
      </Button>
      {isOpen && (
        <>
          <Button disabled={!takes} onClick={end}>
            No more messages
          </Button>
          <Button onClick={cancel}>Cancel</Button>
        </>
      )}
    </CallForm>
  );
}

interface CallFormProps {
  readonly progress: CallProgress | undefined;
  readonly text: string;
  readonly editor: ComponentChildren;
  readonly confirm: ControlsProps["confirm"];
  /** Undefined while nothing can be sent. */
  readonly onSend: (() => void) | undefined;
  /** Buttons. The first one sends. */
  readonly children: ComponentChildren;
}

function CallForm({ progress, text, editor, confirm, onSend, children }: CallFormProps) {
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
  // Ctrl+Enter sends from every control. The browser itself sends at Enter only in a line of text,
  // not in a text area or a select.
  const onKeyDown = (event: KeyboardEvent & { readonly currentTarget: HTMLFormElement }) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.currentTarget.requestSubmit();
  };
  return (
    <>
      <form class="stack" onSubmit={onSubmit} onKeyDown={onKeyDown}>
        <Refused.Provider value={sent === text ? refusedField(progress?.failure) : undefined}>
          {editor}
        </Refused.Provider>
        <p class="actions" ref={actions}>
          {children}
          {progress?.state !== "open" && <span class="soft">or Ctrl+Enter</span>}
        </p>
      </form>
      <ResponseView progress={progress} />
      {asking && confirm?.(send, () => setAsking(false))}
    </>
  );
}

interface ConfirmCallProps {
  /** Such as `Rules.Delete`. */
  readonly name: string;
  /** The endpoint's comment, which says what a call does. */
  readonly summary: string;
  readonly withToken: boolean;
  /** The request as JSON, without secrets. */
  readonly request: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before a call that may remove something. */
function ConfirmCall({ name, summary, withToken, request, onConfirm, onClose }: ConfirmCallProps) {
  const session = useSession();
  return (
    <Dialog title={`Call ${name}?`} onClose={onClose}>
      <div class="stack dialog-body">
        <Prose text={summary} />
        <p>
          This is sent{" "}
          {withToken ? (
            <>
              as <code>{session?.account}</code> in the namespace <code>{session?.namespace}</code>
            </>
          ) : (
            "without a token"
          )}
          , and may not be undone:
        </p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus. */}
        <pre class="code-block" tabIndex={0}>
          <Code text={request} comment="//" />
        </pre>
      </div>
      <div class="dialog-end">
        <p class="actions end">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" onClick={onConfirm}>
            Call {name}
          </Button>
        </p>
      </div>
    </Dialog>
  );
}
