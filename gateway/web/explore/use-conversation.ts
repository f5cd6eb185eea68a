import { useEffect, useRef } from "preact/hooks";
import { accessToken } from "../session/session.js";
import { type Conversation, converse, type Refusal, SESSION_ENDED, whyNotOpened } from "./http-call.js";
import type { CallTarget } from "./try-it.js";
import { type Live, useExchange } from "./use-exchange.js";

/** A call of an endpoint that takes a stream. Leaving the page ends it. */
export function useConversation() {
  const { exchange, begin } = useExchange();
  const conversation = useRef<Conversation | undefined>(undefined);
  const live = useRef<Live | undefined>(undefined);
  useEffect(() => () => conversation.current?.close(), []);
  const open = async ({ path, withToken, namespace }: CallTarget) => {
    const begun = begin();
    live.current = begun;
    const token = withToken ? await accessToken() : undefined;
    if (!begun.isOpen) return;
    if (withToken && token === undefined) return begun.fail(SESSION_ENDED, false);
    let opened = false;
    const onOpen = () => {
      opened = true;
      begun.change({ opened });
    };
    const onClose = async (code: number, reason: string) => {
      if (!begun.isOpen) return;
      if (code === OK) return begun.change({ state: "done" });
      const refusal = opened || code > FIRST_STATUS ? closing(code, reason) : await whyNotOpened({ path, token });
      if (begun.isOpen) begun.fail(refusal, token !== undefined);
    };
    const onMessage = (text: string) => begun.add(text);
    conversation.current = converse({ path, token, namespace }, { onOpen, onMessage, onClose });
  };
  const send = (text: string) => {
    conversation.current?.send(text);
    live.current?.add(text, true);
  };
  const end = () => {
    conversation.current?.end();
    live.current?.change({ ended: true });
  };
  const close = () => {
    conversation.current?.close();
    live.current?.change({ state: "cancelled" });
  };
  return { exchange, open, send, end, close };
}

const OK = 1000;
const FIRST_STATUS = 4000;

function closing(code: number, reason: string): Refusal {
  return { status: Math.max(0, code - FIRST_STATUS), detail: reason || "The connection broke off." };
}
