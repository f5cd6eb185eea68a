/**
 * Short messages in a corner, read by screen readers. A success is shown for some seconds, a
 * failure until it is closed.
 */
import { useLayoutEffect, useState } from "preact/hooks";
import { keepFocus } from "../state/focus.js";
import { Store, useStore } from "../state/store.js";
import { CloseIcon } from "./icons.js";

interface News {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const SHOWN_MS = 3_000;
const MAX_FAILURES = 3;
const news = new Store<readonly News[]>([]);
let count = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a message. It replaces a success, but no failure. */
export function announce(text: string, tone: News["tone"] = "good"): void {
  clearTimeout(timer);
  const failures = news.value.filter((one) => one.tone === "bad" && one.text !== text);
  const next = { id: ++count, text, tone };
  news.set([...failures.slice(-MAX_FAILURES + 1), next]);
  if (tone === "good") timer = setTimeout(() => remove(next.id), SHOWN_MS);
}

function remove(id: number): void {
  news.set(news.value.filter((one) => one.id !== id));
}

const places = new Store<readonly symbol[]>([]);

/**
 * The element that shows the messages. The page and each dialog have one from the start, because
 * screen readers follow only elements that existed before the message. The latest element shows the
 * messages, because nothing outside an open dialog is read.
 */
export function Status() {
  const [place] = useState(Symbol);
  useLayoutEffect(() => {
    places.set([...places.value, place]);
    return () => places.set(places.value.filter((other) => other !== place));
  }, [place]);
  const speaks = useStore(places).at(-1) === place;
  const current = useStore(news);
  return (
    <div class="status" role="status" aria-atomic="false">
      {speaks && current.map((one) => <Message key={one.id} {...one} />)}
    </div>
  );
}

function Message({ id, text, tone }: News) {
  const close = () => {
    remove(id);
    requestAnimationFrame(() => keepFocus());
  };
  return (
    <p class={tone}>
      <span>{text}</span>
      {tone === "bad" && (
        <button type="button" class="button quiet icon" aria-label="Close this message" onClick={close}>
          <CloseIcon />
        </button>
      )}
    </p>
  );
}
