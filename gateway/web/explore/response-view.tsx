/** The response to a call: its status, its duration, and its messages. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { DownloadIcon } from "../ui/icons.js";
import { saveFile } from "../ui/save-file.js";
import { Tabs } from "../ui/tabs.js";
import type { CallProgress } from "./call-progress.js";
import { Json } from "./code.js";
import type { EndpointDocument, Message } from "./document.js";
import { syntaxErrorOf } from "./json-text.js";
import { mediaOf } from "./media.js";
import { MediaView } from "./media-view.js";
import { bytesIn, folded } from "./response-bytes.js";

interface ResponseViewProps {
  readonly progress: CallProgress | undefined;
  readonly expected: Expected;
}

/**
 * The element with the status is in the page from the start, because screen readers follow only
 * elements that existed before.
 */
export function ResponseView({ progress, expected }: ResponseViewProps) {
  return (
    <>
      {progress === undefined && <ExampleResponse described={expected.described} />}
      <section class={progress === undefined ? "hidden" : "answer"} aria-label={progress && "Response"}>
        <div class="stack" role="status">
          {progress && <Outcome progress={progress} />}
        </div>
        {progress && <Content progress={progress} expected={expected} />}
      </section>
    </>
  );
}

function isStream({ head }: CallProgress): boolean {
  return head === undefined || head.isStream;
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

/** What a response is expected to be. */
export interface Expected {
  /** Name of the files that are saved, without an extension, such as `qr-Generate`. */
  readonly file: string;
  /** Undefined if there is no document. */
  readonly described: EndpointDocument | undefined;
}

const TABS = [
  { id: "preview", title: "Preview" },
  { id: "json", title: "JSON" },
  { id: "headers", title: "Headers" },
];

function Content({ progress, expected }: { readonly progress: CallProgress; readonly expected: Expected }) {
  const [tab, setTab] = useState("preview");
  const { head, state, entries, bytes } = progress;
  const hasContent = head !== undefined || entries.length > 0;
  return (
    <>
      {hasContent && (
        <Tabs label="Response as" tabs={TABS} selected={tab} onSelect={setTab}>
          {tab === "headers" ? (
            <Headers head={head} />
          ) : isStream(progress) ? (
            <Messages
              key={tab}
              progress={progress}
              message={tab === "json" ? undefined : expected.described?.response}
            />
          ) : bytes !== undefined ? (
            <Bytes bytes={bytes} file={expected.file} isJson={tab === "json"} type={head?.contentType ?? ""} />
          ) : (
            entries[0] && <Body text={entries[0].text} expected={expected} isWhole={tab === "json"} />
          )}
        </Tabs>
      )}
      {head?.requestId && <p class="hint">Request id {head.requestId}</p>}
      {state === "open" && !hasContent && <p class="soft">Waiting for the response …</p>}
    </>
  );
}

/** The headers that the browser shows a page. */
function Headers({ head }: Pick<CallProgress, "head">) {
  if (head === undefined) return <p class="soft">A browser shows a page no headers of a WebSocket.</p>;
  return (
    <dl class="answer-headers">
      {head.headers.map(([name, value], index) => (
        <div key={`${index}`}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface BytesProps {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly file: string;
  readonly isJson: boolean;
  /** The Content-Type of the response. */
  readonly type: string;
}

function Bytes({ bytes, file, isJson, type }: BytesProps) {
  const media = useMemo(() => mediaOf(bytes), [bytes]);
  if (isJson)
    return (
      <p class="soft">This response is not JSON. It is {type === "" ? "of no known type" : <code>{type}</code>}.</p>
    );
  return <MediaView bytes={bytes} media={media} name="response" file={file} />;
}

interface BodyProps {
  readonly text: string;
  readonly expected: Expected;
  /** Whether the JSON is shown as it came. */
  readonly isWhole: boolean;
}

function Body({ text, expected: { described, file }, isWhole }: BodyProps) {
  const shown = useMemo(() => (isWhole ? [] : bytesIn(described?.response, text)), [text, described, isWhole]);
  const isJson = syntaxErrorOf(text) === undefined;
  const save = () =>
    saveFile(
      `${file}.${isJson ? "json" : "txt"}`,
      new Blob([text], { type: isJson ? "application/json" : "text/plain" }),
    );
  return (
    <div class="stack">
      {shown.map(({ path, bytes, media }) => (
        <MediaView key={path} bytes={bytes} media={media} name={path} file={`${file}-${path}`} />
      ))}
      <div class="answer-body">
        <div class="answer-actions">
          <Button small kind="quiet" aria-label="Save the response" onClick={save}>
            <DownloadIcon /> Save
          </Button>
          <CopyButton text={text} what="the response" />
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus. */}
        <pre class="code-block" tabIndex={0}>
          <Json text={folded(text, shown)} />
        </pre>
      </div>
    </div>
  );
}

/** Before the first call: what the response may look like, and how the call may fail. */
function ExampleResponse({ described }: { readonly described: EndpointDocument | undefined }) {
  if (described === undefined || (described.responseExample === undefined && described.errors.length === 0))
    return null;
  return (
    <section class="answer example" aria-label="Example">
      <p class="answer-head">
        {described.responseExample !== undefined && <Badge>Example</Badge>}
        <span class="soft">Nothing has been sent yet.</span>
      </p>
      {described.responseExample !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus.
        <pre class="code-block" tabIndex={0}>
          <Json text={JSON.stringify(described.responseExample)} />
        </pre>
      )}
      {described.errors.length > 0 && (
        <details class="more">
          <summary>How it can fail</summary>
          <dl class="answer-errors">
            {described.errors.map(({ status, description }) => (
              <div key={status}>
                <dt>{status === "default" ? "other" : status}</dt>
                <dd>{description}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </section>
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

interface MessagesProps {
  readonly progress: CallProgress;
  /** Names the bytes fields, whose base64 is folded; undefined to show all of it. */
  readonly message: Message | undefined;
}

/** Scrolls to the newest message, unless the reader has scrolled up. */
function Messages({ progress: { entries, total }, message }: MessagesProps) {
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
            <Json text={sent ? text : folded(text, bytesIn(message, text))} short />
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
