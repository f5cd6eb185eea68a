/** The response to a call: its status, its duration, and its messages. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Badge } from "../ui/badge.js";
import { CopyButton } from "../ui/copy-button.js";
import type { CallProgress } from "./call-progress.js";
import { Json } from "./code.js";

/**
 * The element with the status is in the page from the start, because screen readers follow only
 * elements that existed before.
 */
export function ResponseView({ progress }: { readonly progress: CallProgress | undefined }) {
  return (
    <section class={progress === undefined ? "hidden" : "answer"} aria-label={progress && "Response"}>
      <div class="stack" role="status">
        {progress && <Outcome progress={progress} />}
      </div>
      {progress && <Content progress={progress} />}
    </section>
  );
}

function isStream({ head }: CallProgress): boolean {
  return head === undefined || head.contentType.startsWith("application/x-ndjson");
}

/** How the call ended, and what the visitor can do about a failure. */
function Outcome({ progress }: { readonly progress: CallProgress }) {
  const { head, total, failure } = progress;
  return (
    <>
      <p class="answer-head">
        <StateBadge progress={progress} />
        {head && <span class="soft">{milliseconds(head.milliseconds)}</span>}
        {isStream(progress) && total > 0 && (
          <span class="soft">
            {total} {total === 1 ? "message" : "messages"}
          </span>
        )}
      </p>
      {failure && (failure.detail !== "" || failure.advice !== undefined) && (
        <div class="notice bad">
          {failure.detail !== "" && (
            <p>
              {failure.status !== 0 && failure.status !== head?.status && `${failure.status}: `}
              {failure.detail}
            </p>
          )}
          {failure.advice !== undefined && <p class="soft">{failure.advice}</p>}
        </div>
      )}
    </>
  );
}

function Content({ progress }: { readonly progress: CallProgress }) {
  const { head, state, entries } = progress;
  return (
    <>
      {isStream(progress) ? <Messages progress={progress} /> : entries[0] && <Body text={entries[0].text} />}
      {head?.requestId && <p class="hint">Request id {head.requestId}</p>}
      {state === "open" && head === undefined && entries.length === 0 && <p class="soft">Waiting for the response …</p>}
    </>
  );
}

function StateBadge({ progress }: { readonly progress: CallProgress }) {
  const { head, state } = progress;
  const ends = { open: "open", done: "complete", cancelled: "cancelled", failed: "failed" };
  const tone = state === "failed" ? "bad" : state === "cancelled" ? "warning" : "good";
  return (
    <>
      {head && (
        <Badge tone={head.status < 400 ? "good" : "bad"}>
          {head.status} {head.statusText}
        </Badge>
      )}
      {isStream(progress) && <Badge tone={state === "open" ? "accent" : tone}>{ends[state]}</Badge>}
    </>
  );
}

function Body({ text }: { readonly text: string }) {
  return (
    <div class="answer-body">
      <CopyButton text={text} what="the response" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus. */}
      <pre class="code-block" tabIndex={0}>
        <Json text={text} />
      </pre>
    </div>
  );
}

/** Scrolls to the newest message, unless the reader has scrolled up. */
function Messages({ progress: { entries, total } }: { readonly progress: CallProgress }) {
  const list = useRef<HTMLOListElement>(null);
  // Read before the next drawing, because a scroll event would come only after it.
  const follows = list.current === null || isAtEnd(list.current);
  useLayoutEffect(() => {
    if (follows) list.current?.scrollTo(0, list.current.scrollHeight);
  }, [total]);
  if (entries.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus.
    <ol class="messages" ref={list} tabIndex={0} aria-label="Messages">
      {total > entries.length && <li class="soft">{total - entries.length} earlier messages are not shown</li>}
      {entries.map(({ id, at, sent, text }) => (
        <li key={id} class={sent ? "sent" : undefined}>
          <span class="message-time">
            {sent && <span class="message-sent">sent</span>} {milliseconds(at)}
          </span>
          <pre>
            <Json text={text} short />
          </pre>
        </li>
      ))}
    </ol>
  );
}

function isAtEnd({ scrollTop, clientHeight, scrollHeight }: HTMLElement): boolean {
  return scrollTop + clientHeight >= scrollHeight - 8;
}

function milliseconds(time: number): string {
  return time < 1000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(2)} s`;
}
