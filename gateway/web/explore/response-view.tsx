/** The answer to a call: its status, how long it took, and what came. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Badge } from "../ui/badge.js";
import { CopyButton } from "../ui/copy-button.js";
import type { Exchange } from "./call-progress.js";
import { Json } from "./code.js";

interface AnswerViewProps {
  readonly exchange: Exchange | undefined;
}

/** Its status stands in the page from the beginning: screen readers follow only what was there before. */
export function AnswerView({ exchange }: AnswerViewProps) {
  return (
    <section class={exchange === undefined ? "hidden" : "answer"} aria-label={exchange && "Response"}>
      <div class="stack" role="status">
        {exchange && <Outcome exchange={exchange} />}
      </div>
      {exchange && <Content exchange={exchange} />}
    </section>
  );
}

function streams({ answer }: Exchange): boolean {
  return answer === undefined || answer.contentType.startsWith("application/x-ndjson");
}

/** How it went, and what can be done. */
function Outcome({ exchange }: { readonly exchange: Exchange }) {
  const { answer, total, fault } = exchange;
  return (
    <>
      <p class="answer-head">
        <StateBadge exchange={exchange} />
        {answer && <span class="soft">{milliseconds(answer.milliseconds)}</span>}
        {streams(exchange) && total > 0 && (
          <span class="soft">
            {total} {total === 1 ? "message" : "messages"}
          </span>
        )}
      </p>
      {fault && (fault.detail !== "" || fault.advice !== undefined) && (
        <div class="notice bad">
          {fault.detail !== "" && (
            <p>
              {fault.status !== 0 && fault.status !== answer?.status && `${fault.status}: `}
              {fault.detail}
            </p>
          )}
          {fault.advice !== undefined && <p class="soft">{fault.advice}</p>}
        </div>
      )}
    </>
  );
}

function Content({ exchange }: { readonly exchange: Exchange }) {
  const { answer, state, entries } = exchange;
  return (
    <>
      {streams(exchange) ? <Messages exchange={exchange} /> : entries[0] && <Body text={entries[0].text} />}
      {answer?.requestId && <p class="hint">Request id {answer.requestId}</p>}
      {state === "open" && answer === undefined && entries.length === 0 && (
        <p class="soft">Waiting for the response …</p>
      )}
    </>
  );
}

function StateBadge({ exchange }: { readonly exchange: Exchange }) {
  const { answer, state } = exchange;
  const ends = { open: "open", done: "complete", cancelled: "cancelled", failed: "failed" };
  const tone = state === "failed" ? "bad" : state === "cancelled" ? "warning" : "good";
  return (
    <>
      {answer && (
        <Badge tone={answer.status < 400 ? "good" : "bad"}>
          {answer.status} {answer.statusText}
        </Badge>
      )}
      {streams(exchange) && <Badge tone={state === "open" ? "accent" : tone}>{ends[state]}</Badge>}
    </>
  );
}

function Body({ text }: { readonly text: string }) {
  return (
    <div class="answer-body">
      <CopyButton text={text} what="the response" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre class="code-block" tabIndex={0}>
        <Json text={text} />
      </pre>
    </div>
  );
}

/** Follows the newest message, unless the reader has scrolled up. */
function Messages({ exchange: { entries, total } }: { readonly exchange: Exchange }) {
  const list = useRef<HTMLOListElement>(null);
  // As it is before it is drawn. An event would tell of it later, when more has been drawn.
  const follows = list.current === null || isAtEnd(list.current);
  useLayoutEffect(() => {
    if (follows) list.current?.scrollTo(0, list.current.scrollHeight);
  }, [total]);
  if (entries.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
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
