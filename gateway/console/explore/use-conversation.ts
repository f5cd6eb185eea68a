import { useEffect, useRef } from "preact/hooks";
import { accessToken } from "../session.js";
import { type Conversation, converse } from "./calling.js";
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
    conversation.current = converse(
      { path, token, namespace },
      {
        onOpen: () => begun.change({ opened: true }),
        onMessage: (text) => begun.add(text),
        onClose: (code, reason) => begun.change(closing(code, reason)),
      },
    );
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

function closing(code: number, reason: string) {
  if (code === OK) return { state: "done" } as const;
  const status = code > FIRST_STATUS ? `${code - FIRST_STATUS}: ` : "";
  const why = reason === "" ? "The connection could not be opened, or broke off." : status + reason;
  return { state: "failed", fault: why } as const;
}
