/**
 * The parts of a call on the page of an endpoint: the line with Send, the form, and beside them the
 * response. The line with Send is first, so the keyboard reaches it before the fields.
 */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSignedInAgain } from "../session/sign-in.js";
import { useKeptFocus } from "../state/focus.js";
import type { CallProgress } from "./call-progress.js";
import { errorOf } from "./json-text.js";
import { focusField, Refused, type RefusedField, Revealed, refusedFields } from "./refusal.js";
import type { TryItState } from "./request-memory.js";
import { type Expected, ResponseView } from "./response-view.js";

/** The id of the form, for its button Send, which is outside of it. */
export const FORM = "request-form";

export interface CallFormProps {
  readonly progress: CallProgress | undefined;
  readonly expected: Expected;
  readonly call: TryItState;
  /** Why the request does not fit the REST path, and the field that is the reason. */
  readonly unbound: { readonly error: string; readonly field: string | undefined } | undefined;
  /** Asks before anything is sent; undefined if there is nothing to ask. */
  readonly confirm: ((onConfirm: () => void, onClose: () => void) => VNode) | undefined;
  /** Undefined while nothing can be sent. */
  readonly onSend: (() => void) | undefined;
  readonly onSent: () => void;
  /** Called when a call has ended. @param status 0 if there was no response */
  readonly onEnd: (status: number, sent: TryItState) => void;
  /** What is called, and as whom. */
  readonly head: VNode;
  /** Buttons. The first one sends. */
  readonly buttons: VNode;
  readonly docs: VNode;
  readonly code: VNode;
  /** The fields. */
  readonly children: ComponentChildren;
}

export function CallForm({ progress, expected, call, unbound, confirm, onSend, ...props }: CallFormProps) {
  const { onSent, onEnd, head, buttons, docs, code, children } = props;
  const [sent, setSent] = useState<TryItState>();
  const [asking, setAsking] = useState(false);
  const columns = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const actions = useRef<HTMLParagraphElement>(null);
  useKeptFocus(actions);
  useHeight(bar, columns);
  useEnd(progress, () => sent && onEnd(progress?.failure?.status ?? progress?.head?.status ?? 0, sent));
  useSignedInAgain(() => moveOn(form.current, actions.current));
  const { revealed, reveal } = useReveal(form);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (onSend === undefined) return;
    if (confirm === undefined) send();
    else setAsking(true);
  };
  const send = () => {
    setAsking(false);
    setSent(call);
    onSent();
    onSend?.();
  };
  const isSame = sent?.text === call.text;
  const refused = isSame ? refusedFields(progress?.failure) : [];
  const isUnread = isSame && progress?.failure?.status === 400 && errorOf(call.text) !== undefined;
  return (
    <div class="try-it endpoint-columns" ref={columns}>
      <section class="call-bar" id="request" aria-label="What is sent" tabIndex={-1} ref={bar}>
        {head}
        <p class="actions" ref={actions}>
          {buttons}
        </p>
      </section>
      <div class="endpoint-main">
        <section class="request-part" aria-label="Request">
          <h2>Request</h2>
          <form class="stack" id={FORM} ref={form} onSubmit={onSubmit} onKeyDown={sendByControlEnter}>
            <Unbound unbound={unbound} onReveal={reveal} />
            <Refused.Provider value={refused}>
              <Revealed.Provider value={revealed}>{children}</Revealed.Provider>
            </Refused.Provider>
            <p class="soft">Ctrl+Enter sends from every field.</p>
          </form>
        </section>
        {docs}
      </div>
      <div class="endpoint-side">
        <div class="response-part">
          {(refused.length > 0 || isUnread) && <Corrections refused={refused} onReveal={reveal} />}
          <ResponseView progress={progress} expected={expected} />
        </div>
        {code}
      </div>
      {asking && confirm?.(send, () => setAsking(false))}
    </div>
  );
}

interface UnboundProps extends Pick<CallFormProps, "unbound"> {
  readonly onReveal: (path: string) => void;
}

function Unbound({ unbound, onReveal }: UnboundProps) {
  if (unbound === undefined) return null;
  return (
    <div class="notice warning">
      <p>{unbound.error}</p>
      {unbound.field && <FieldLink path={unbound.field} onReveal={onReveal} />}
    </div>
  );
}

// Ctrl+Enter sends from every control. The browser itself sends at Enter only in a line of text,
// not in a text area or a select.
function sendByControlEnter(event: KeyboardEvent & { readonly currentTarget: HTMLFormElement }): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

/** Maximum links to fields that were refused. */
const MAX_LINKS = 5;

interface CorrectionsProps {
  readonly refused: readonly RefusedField[];
  readonly onReveal: (path: string) => void;
}

/** Links to the fields for which the request was refused. */
function Corrections({ refused, onReveal }: CorrectionsProps) {
  return (
    <ul class="corrections notice bad" aria-label="Fields to correct">
      {refused.slice(0, MAX_LINKS).map(({ path, reason }) => (
        <li key={path}>
          <FieldLink path={path} onReveal={onReveal} /> {reason}
        </li>
      ))}
      {refused.length === 0 && (
        <li>
          <FieldLink path="" onReveal={onReveal} /> The request is not JSON yet.
        </li>
      )}
    </ul>
  );
}

function FieldLink({ path, onReveal }: { readonly path: string; readonly onReveal: (path: string) => void }) {
  return (
    <button type="button" class="link" onClick={() => onReveal(path)}>
      Go to {path === "" ? "the marked field" : <code>{path}</code>}
    </button>
  );
}

/** Shows a field of the form, also one that is folded away, and moves the focus to it. */
function useReveal(form: { readonly current: HTMLFormElement | null }) {
  const [revealed, setRevealed] = useState<{ readonly path: string }>();
  // By then the form has been drawn with the field.
  useEffect(() => {
    if (revealed !== undefined && form.current !== null) focusField(form.current, revealed.path);
  }, [revealed]);
  return { revealed, reveal: (path: string) => setRevealed({ path }) };
}

function useEnd(progress: CallProgress | undefined, onEnd: () => void): void {
  const state = progress?.state;
  const before = useRef(state);
  useEffect(() => {
    if (before.current === "open" && state !== "open" && state !== undefined) onEnd();
    before.current = state;
  }, [state]);
}

/** The column below the line with Send begins at its height, which depends on its content. */
function useHeight(bar: { readonly current: HTMLElement | null }, columns: { readonly current: HTMLElement | null }) {
  useLayoutEffect(() => {
    if (bar.current === null) return;
    const observer = new ResizeObserver(() => {
      columns.current?.style.setProperty("--bar-height", `${bar.current?.offsetHeight ?? 0}px`);
    });
    observer.observe(bar.current);
    return () => observer.disconnect();
  }, []);
}

/** After a sign-in that the call needed, the next thing to do is to send it again. */
function moveOn(form: HTMLElement | null, actions: HTMLElement | null): void {
  const focused = document.activeElement;
  const isFilled = focused instanceof HTMLInputElement && focused.value !== "" && form?.contains(focused);
  const isLost = focused === null || focused === document.body || focused.tagName === "MAIN";
  if (isFilled || isLost) actions?.querySelector<HTMLElement>("button")?.focus();
}
