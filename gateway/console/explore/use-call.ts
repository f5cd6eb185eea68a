import { useEffect, useRef } from "preact/hooks";
import { ApiError } from "../http.js";
import { accessToken, checkSession } from "../session.js";
import { type Answer, makeCall } from "./calling.js";
import type { CallTarget } from "./try-it.js";
import { useExchange } from "./use-exchange.js";

/** A call of an endpoint that takes one message. Another one, or leaving the page, cancels it. */
export function useCall() {
  const { exchange, begin } = useExchange();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const send = async ({ path, withToken, namespace }: CallTarget, body: string) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const live = begin();
    try {
      const token = withToken ? await accessToken() : undefined;
      const listener = {
        onAnswer: (answer: Answer) => {
          live.change({ answer });
          // By the rules or because the token is none any more: only the authority can say.
          if (answer.status === 401 && token !== undefined) checkSession();
        },
        onMessage: (text: string) => live.add(text),
      };
      await makeCall({ path, body, token, namespace }, listener, controller.signal);
      live.change({ state: "done" });
    } catch (thrown) {
      if (controller.signal.aborted) live.change({ state: "cancelled" });
      else live.change({ state: "failed", fault: ApiError.from(thrown).message });
    }
  };
  return { exchange, send, cancel: () => running.current?.abort() };
}
