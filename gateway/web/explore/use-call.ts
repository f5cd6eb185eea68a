/** Calls that follow the page: leaving it cancels the call that is running. */
import { useEffect, useRef } from "preact/hooks";
import { ApiError } from "../http.js";
import { accessToken } from "../session/session.js";
import { type ProgressRecorder, useCallProgress } from "./call-progress.js";
import {
  findOpenFailure,
  makeCall,
  openWebSocket,
  type ResponseHead,
  readClose,
  SESSION_ENDED,
  type WebSocketCall,
} from "./calls.js";

/** Where a call goes. */
export interface CallTarget {
  readonly path: string;
  readonly withToken: boolean;
  readonly namespace: string | undefined;
}

/** A call of an endpoint that takes one message. The next call cancels the one before. */
export function useHttpCall() {
  const { progress, begin } = useCallProgress();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const send = async ({ path, withToken, namespace }: CallTarget, body: string) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const recorder = begin();
    try {
      const token = withToken ? await accessToken() : undefined;
      if (withToken && token === undefined) return recorder.fail(SESSION_ENDED, false);
      const listener = {
        onHead: (head: ResponseHead) => recorder.change({ head }),
        onMessage: (text: string) => recorder.add(text),
      };
      const failure = await makeCall({ path, body, token, namespace }, listener, controller.signal);
      if (failure === undefined) recorder.change({ state: "done" });
      else recorder.fail(failure, token !== undefined);
    } catch (thrown) {
      if (controller.signal.aborted) recorder.change({ state: "cancelled" });
      else recorder.fail({ status: 0, detail: ApiError.from(thrown).message }, false);
    }
  };
  return { progress, send, cancel: () => running.current?.abort() };
}

/** A call of an endpoint that takes a stream. */
export function useWebSocketCall() {
  const { progress, begin } = useCallProgress();
  const call = useRef<WebSocketCall | undefined>(undefined);
  const current = useRef<ProgressRecorder | undefined>(undefined);
  useEffect(() => () => call.current?.cancel(), []);
  const open = async ({ path, withToken, namespace }: CallTarget) => {
    const recorder = begin();
    current.current = recorder;
    const token = withToken ? await accessToken() : undefined;
    if (!recorder.isOpen) return;
    if (withToken && token === undefined) return recorder.fail(SESSION_ENDED, false);
    let opened = false;
    const onOpen = () => {
      opened = true;
      recorder.change({ opened });
    };
    const onClose = async (code: number, reason: string) => {
      if (!recorder.isOpen) return;
      const closed = readClose(code, reason);
      if (closed === undefined) return recorder.change({ state: "done" });
      const failure = opened || closed.status > 0 ? closed : await findOpenFailure({ path, token });
      if (recorder.isOpen) recorder.fail(failure, token !== undefined);
    };
    const onMessage = (text: string) => recorder.add(text);
    call.current = openWebSocket({ path, token, namespace }, { onOpen, onMessage, onClose });
  };
  const send = (text: string) => {
    call.current?.send(text);
    current.current?.add(text, true);
  };
  const end = () => {
    call.current?.end();
    current.current?.change({ ended: true });
  };
  const cancel = () => {
    call.current?.cancel();
    current.current?.change({ state: "cancelled" });
  };
  return { progress, open, send, end, cancel };
}
