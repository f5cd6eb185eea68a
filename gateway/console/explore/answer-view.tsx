/** The answer to a call: its status, how long it took, and what came. */
import { useEffect, useRef } from "preact/hooks";
import { Badge } from "../ui/badge.js";
import { CopyButton } from "../ui/copy-button.js";
import { adviceFor, detailOf } from "./advice.js";
import { Json } from "./code.js";
import type { Exchange } from "./exchange.js";

interface AnswerViewProps {
  readonly exchange: Exchange;
  readonly withToken: boolean;
}

export function AnswerView({ exchange, withToken }: AnswerViewProps) {
  const { answer, state, fault, entries } = exchange;
  const streams = answer === undefined || answer.contentType.startsWith("application/x-ndjson");
  return (
    <section class="answer" aria-label="Response">
      <p class="answer-head" role="status">
        <StateBadge exchange={exchange} />
        {answer && <span class="soft">{milliseconds(answer.milliseconds)}</span>}
        {streams && exchange.total > 0 && (
          <span class="soft">
            {exchange.total} {exchange.total === 1 ? "message" : "messages"}
          </span>
        )}
      </p>
      {fault !== undefined && <p class="notice bad">{fault}</p>}
      {answer && answer.status >= 400 && (
        <Refusal status={answer.status} body={entries[0]?.text ?? ""} withToken={withToken} />
      )}
      {streams ? <Messages exchange={exchange} /> : entries[0] && <Body text={entries[0].text} />}
      {answer?.requestId && <p class="hint">Request id {answer.requestId}</p>}
      {state === "open" && answer === undefined && entries.length === 0 && (
        <p class="soft">Waiting for the response …</p>
      )}
    </section>
  );
}

function StateBadge({ exchange: { answer, state } }: { readonly exchange: Exchange }) {
  const ends = { open: "open", done: "complete", cancelled: "cancelled", failed: "failed" };
  const tone = state === "failed" ? "bad" : state === "cancelled" ? "warning" : "good";
  return (
    <>
      {answer && (
        <Badge tone={answer.status < 400 ? "good" : "bad"}>
          {answer.status} {answer.statusText}
        </Badge>
      )}
      {(answer === undefined || answer.contentType.startsWith("application/x-ndjson")) && (
        <Badge tone={state === "open" ? "accent" : tone}>{ends[state]}</Badge>
      )}
    </>
  );
}

interface RefusalProps {
  readonly status: number;
  readonly body: string;
  readonly withToken: boolean;
}

/** What the gateway or the service said, and what can be done. */
function Refusal({ status, body, withToken }: RefusalProps) {
  const detail = detailOf(body);
  const advice = adviceFor(status, detail, withToken);
  if (detail === "" && advice === undefined) return null;
  return (
    <div class="notice bad">
      {detail !== "" && <p>{detail}</p>}
      {advice !== undefined && <p class="soft">{advice}</p>}
    </div>
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
  const follows = useRef(true);
  useEffect(() => {
    if (follows.current) list.current?.scrollTo(0, list.current.scrollHeight);
  }, [total]);
  if (entries.length === 0) return null;
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }: { currentTarget: HTMLElement }) => {
    follows.current = scrollTop + clientHeight >= scrollHeight - 8;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <ol class="messages" ref={list} onScroll={onScroll} tabIndex={0} aria-label="Messages">
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

function milliseconds(time: number): string {
  return time < 1000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(2)} s`;
}
