/** Short messages, shown for some seconds in a corner and read by screen readers. */
import { useLayoutEffect, useState } from "preact/hooks";
import { Store, useStore } from "../state/store.js";

interface News {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const SHOWN_MS = 6_000;
const news = new Store<News | undefined>(undefined);
let count = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a message instead of the one before. */
export function announce(text: string, tone: News["tone"] = "good"): void {
  clearTimeout(timer);
  news.set({ id: ++count, text, tone });
  timer = setTimeout(() => news.set(undefined), SHOWN_MS);
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
    <div class="status" role="status">
      {speaks && current && (
        <p key={current.id} class={current.tone}>
          {current.text}
        </p>
      )}
    </div>
  );
}
