import { useEffect, useRef } from "preact/hooks";
import { ApiError } from "../http.js";
import { accessToken } from "../session/session.js";
import { type Answer, makeCall, SESSION_ENDED } from "./http-call.js";
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
      if (withToken && token === undefined) return live.fail(SESSION_ENDED, false);
      const listener = {
        onAnswer: (answer: Answer) => live.change({ answer }),
        onMessage: (text: string) => live.add(text),
      };
      const refusal = await makeCall({ path, body, token, namespace }, listener, controller.signal);
      if (refusal === undefined) live.change({ state: "done" });
      else live.fail(refusal, token !== undefined);
    } catch (thrown) {
      if (controller.signal.aborted) live.change({ state: "cancelled" });
      else live.fail({ status: 0, detail: ApiError.from(thrown).message }, false);
    }
  };
  return { exchange, send, cancel: () => running.current?.abort() };
}
