/** Try it: the visitor makes a call from the page, and sees its response as it arrives. */
import type { VNode } from "preact";
import { useSession } from "../session/session.js";
import { askToSignIn } from "../session/sign-in.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { TextField } from "../ui/field.js";
import { CallForm, type CallFormProps, FORM } from "./call-form.js";
import { type CallTarget, useHttpCall, useWebSocketCall } from "./call-progress.js";
import { Code } from "./code.js";
import type { EndpointDocument, Message } from "./document.js";
import { errorOf, parseExact } from "./json-text.js";
import { Prose } from "./prose.js";
import { recordCall } from "./recent-calls.js";
import { RequestEditor } from "./request-editor.js";
import { MAX_FRAGMENT, storableCall, type TryItState } from "./request-memory.js";
import { boundCall, type RestPath, type RestRequest, restKey } from "./rest.js";
import { withoutSecrets } from "./secrets.js";
import type { Endpoint } from "./services.js";

interface TryItProps {
  /** The REST paths of the endpoint that the form can fill in. */
  readonly paths: readonly RestPath[];
  readonly service: string;
  readonly endpoint: Endpoint;
  readonly described: EndpointDocument | undefined;
  readonly call: TryItState;
  readonly onCall: (call: TryItState) => void;
  /** Called when a call begins. */
  readonly onSent: () => void;
  /** What is below the form, and below the response. */
  readonly docs: VNode;
  readonly code: VNode;
}

export function TryIt({ service, endpoint, described, paths, call, onCall, onSent, docs, code }: TryItProps) {
  const session = useSession();
  const withToken = session !== undefined && !call.asNobody;
  const path = withToken ? endpoint.path : endpoint.path.replace(/^\/v1/, "");
  const rest = paths.find((one) => restKey(one) === call.rest);
  const bound = rest && boundCall(rest, call.text, described?.request);
  const namespace = call.namespace || undefined;
  const target = { method: "POST", path, ...bound?.request, withToken, namespace, envelopes: rest?.envelopes };
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
  const onEnd = (status: number, sent: TryItState) => {
    const stored = storableCall(described, sent);
    const isShort = stored !== undefined && stored.text.length <= MAX_FRAGMENT;
    recordCall({ service, endpoint: endpoint.name, call: isShort ? stored : undefined, status, at: Date.now() });
  };
  const Controls = endpoint.clientStreaming ? WebSocketControls : HttpControls;
  return (
    <Controls
      target={target}
      expected={{ described, file: `${service}-${endpoint.name}` }}
      call={call}
      body={body}
      unbound={bound?.error === undefined ? undefined : { error: bound.error, field: bound.field }}
      confirm={asks ? confirm : undefined}
      onSent={onSent}
      onEnd={onEnd}
      head={
        <>
          <PathChoice path={path} isSocket={endpoint.clientStreaming} paths={paths} call={call} onCall={onCall} />
          <CallAs call={call} onCall={onCall} />
        </>
      }
      docs={docs}
      code={code}
    >
      {session === undefined && !endpoint.open && <NeedsToken />}
      <RequestEditor described={described} text={call.text} onText={(text) => onCall({ ...call, text })} />
      {bound?.request && <RequestLine request={bound.request} />}
      {/* A browser can send no headers with a WebSocket. */}
      {!withToken && !endpoint.clientStreaming && <NamespaceField call={call} onCall={onCall} />}
    </Controls>
  );
}

interface PathChoiceProps extends Pick<TryItProps, "paths" | "call" | "onCall"> {
  readonly path: string;
  readonly isSocket: boolean;
}

/** What is called: the endpoint by its name, or one of its REST paths. */
function PathChoice({ path, isSocket, paths, call, onCall }: PathChoiceProps) {
  if (paths.length === 0) {
    return (
      <p class="path call-path">
        <span class="method">{isSocket ? "WebSocket" : "POST"}</span>
        <code>{path}</code>
      </p>
    );
  }
  const options = [
    ["", `POST ${path}, by name`],
    ...paths.map((one) => [restKey(one), restKey(one)] as const),
  ] as const;
  return (
    <select
      class="call-path"
      aria-label="Call"
      value={call.rest}
      onChange={(event) => onCall({ ...call, rest: event.currentTarget.value })}
    >
      {options.map(([key, title]) => (
        <option key={key} value={key}>
          {title}
        </option>
      ))}
    </select>
  );
}

function bodyText(request: RestRequest | undefined): string | undefined {
  return request?.body === undefined ? undefined : JSON.stringify(request.body, null, 2);
}

/** The request line that is sent, made from the values of the form. */
function RequestLine({ request }: { readonly request: RestRequest }) {
  return (
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
  if (session === undefined) return <span class="soft call-as">without a token</span>;
  return (
    <label class="call-as">
      <span>as</span>
      <select
        aria-label="Call as"
        value={call.asNobody ? "nobody" : "self"}
        onChange={(event) => onCall({ ...call, asNobody: event.currentTarget.value === "nobody" })}
      >
        <option value="self">{session.account}</option>
        <option value="nobody">nobody (no token)</option>
      </select>
    </label>
  );
}

interface ControlsProps extends Omit<CallFormProps, "progress" | "onSend" | "buttons"> {
  readonly target: CallTarget;
  /** The body that is sent: JSON text, or undefined for no body. */
  readonly body: string | undefined;
}

function HttpControls({ target, body, ...form }: ControlsProps) {
  const { progress, send, cancel } = useHttpCall();
  const busy = progress?.state === "open";
  const isUnbound = form.unbound !== undefined;
  const buttons = (
    <>
      <Button type="submit" form={FORM} kind="primary" busy={busy} disabled={isUnbound}>
        Send
      </Button>
      {busy && <Button onClick={cancel}>Cancel</Button>}
    </>
  );
  const onSend = busy || isUnbound ? undefined : () => send(target, body);
  return <CallForm {...form} progress={progress} buttons={buttons} onSend={onSend} />;
}

function WebSocketControls({ target, body: _, ...form }: ControlsProps) {
  const { progress, open, send, end, cancel } = useWebSocketCall();
  const isOpen = progress?.state === "open";
  const takes = isOpen && progress.opened && !progress.ended;
  const onSend = takes ? () => send(form.call.text) : isOpen ? undefined : () => open(target);
  const buttons = (
    <>
      <Button type="submit" form={FORM} kind="primary" disabled={isOpen && !takes}>
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
    </>
  );
  return <CallForm {...form} progress={progress} buttons={buttons} onSend={onSend} />;
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
