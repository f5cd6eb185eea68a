/**
 * The state of a call on the page: what was sent and received so far, and how the call ended.
 * Messages may arrive faster than a page is drawn, so all messages between two drawings are added
 * at once.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../http.js";
import { accessToken, checkSession, ended, session } from "../session/session.js";
import {
  type Failure,
  findOpenFailure,
  makeCall,
  openWebSocket,
  type ResponseHead,
  readClose,
  SESSION_ENDED,
  type WebSocketCall,
} from "./calls.js";
import type { Envelopes } from "./envelopes.js";

export interface Entry {
  readonly id: number;
  /** Milliseconds since the call began. */
  readonly at: number;
  readonly sent: boolean;
  readonly text: string;
}

export interface CallProgress {
  readonly state: "open" | "done" | "cancelled" | "failed";
  readonly head: ResponseHead | undefined;
  /** The latest entries. */
  readonly entries: readonly Entry[];
  /** The body of the response if it is no text. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
  /** The number of all entries, including those that are no longer shown. */
  readonly total: number;
  readonly failure: (Failure & { readonly advice: string | undefined }) | undefined;
  /** Whether a WebSocket is open, so that messages can be sent. */
  readonly opened: boolean;
  /** Whether the visitor has ended the stream of request messages. */
  readonly ended: boolean;
}

const STARTED: CallProgress = {
  state: "open",
  head: undefined,
  entries: [],
  bytes: undefined,
  total: 0,
  failure: undefined,
  opened: false,
  ended: false,
};

/**
 * Maximum entries of a stream that are stored: the latest ones. A page that stored all of a long
 * stream would become slow and then stop.
 */
const MAX_ENTRIES = 500;

/** The progress of the latest call, and a function that begins the next one. */
export function useCallProgress() {
  const [progress, setProgress] = useState<CallProgress>();
  const current = useRef<ProgressRecorder | undefined>(undefined);
  useEffect(() => () => current.current?.stop(), []);
  // After a sign-in, an error that asked for it is no longer true.
  const forgetRefusal = () => setProgress((last) => (last?.failure && asksForSignIn(last.failure) ? undefined : last));
  useEffect(() => session.follow(forgetRefusal), []);
  useEffect(() => ended.follow((why) => why === undefined && forgetRefusal()), []);
  const begin = (): ProgressRecorder => {
    current.current?.stop();
    const recorder = new ProgressRecorder(setProgress);
    current.current = recorder;
    return recorder;
  };
  return { progress, begin };
}

function asksForSignIn({ status, detail }: Failure): boolean {
  return status === 401 || detail === SESSION_ENDED.detail;
}

class ProgressRecorder {
  readonly #show: (progress: CallProgress) => void;
  readonly #started = performance.now();
  #progress = STARTED;
  /** Entries since the last drawing. */
  #waiting: Omit<Entry, "id">[] = [];
  #frame: number | undefined;
  #stopped = false;

  constructor(show: (progress: CallProgress) => void) {
    this.#show = show;
    show(STARTED);
  }

  get isOpen(): boolean {
    return !this.#stopped && this.#progress.state === "open";
  }

  add(text: string, sent = false): void {
    this.#waiting.push({ at: performance.now() - this.#started, text, sent });
    this.#frame ??= requestAnimationFrame(() => this.change({}));
  }

  change(change: Partial<CallProgress>): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.#progress = { ...withEntries(this.#progress, this.#waiting), ...change };
    this.#waiting = [];
    if (!this.#stopped) this.#show(this.#progress);
  }

  /**
   * @param withToken whether the call had a token; the visitor may have changed the choice since
   * then
   */
  fail(failure: Failure, withToken: boolean): void {
    const { status, detail } = failure;
    this.change({ state: "failed", failure: { ...failure, advice: adviceFor(status, detail, withToken) } });
    // The rules or an ended session may cause a 401. Only the authority knows which.
    if (status === 401 && withToken) checkSession();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }
}

function withEntries(progress: CallProgress, entries: readonly Omit<Entry, "id">[]): CallProgress {
  const numbered = entries.map((entry, index) => ({ ...entry, id: progress.total + index + 1 }));
  return {
    ...progress,
    total: progress.total + entries.length,
    entries: [...progress.entries, ...numbered].slice(-MAX_ENTRIES),
  };
}

/**
 * What the visitor can do about a call that was refused or failed. Undefined if the Detail of the
 * error says enough.
 * @param detail the error object's Detail
 */
export function adviceFor(status: number, detail: string, withToken: boolean): string | undefined {
  // A service may refuse, too, with a Detail of its own. Only the service knows what helps.
  const byRules = /^(?:Unauthorized|Forbidden) call made to /.test(detail);
  switch (status) {
    case 400:
      return "The Detail says what is wrong. Correct the request and send it again.";
    case 401:
      if (!byRules) return undefined;
      return withToken
        ? "No rule grants this call to your account. An administrator can see why under Rules → Explain."
        : "Nobody may call this without a token. Sign in and send it again.";
    case 403:
      if (!byRules) return undefined;
      return "A rule denies this call to your account. An administrator can see which one under Rules → Explain.";
    case 429:
      return "Too many calls came at once. Wait a moment and send it again.";
    case 502:
      if (/ responded with too much: /.test(detail)) return "Ask for less, or have the operator raise the limit.";
      return "The service broke the protocol. Its operator finds the request id in the log.";
    case 503:
      return "The service cannot be reached now. Try again in a moment.";
    case 504:
      return "The service took too long. Its operator finds the request id in the log.";
  }
  return status >= 500 ? "The operator of the service finds the request id in the log." : undefined;
}

/** The method and path of a call. */
export interface CallTarget {
  /** HTTP method. */
  readonly method: string;
  readonly path: string;
  readonly withToken: boolean;
  readonly namespace: string | undefined;
  readonly envelopes: Envelopes | undefined;
}

/** A call of an endpoint that takes one message. The next call cancels the one before. */
export function useHttpCall() {
  const { progress, begin } = useCallProgress();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const send = async ({ withToken, ...target }: CallTarget, body: string | undefined) => {
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
        onBytes: (bytes: Uint8Array<ArrayBuffer>) => recorder.change({ bytes }),
      };
      const failure = await makeCall({ ...target, body, token }, listener, controller.signal);
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
  const open = async ({ path, withToken }: CallTarget) => {
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
    call.current = openWebSocket({ path, token }, { onOpen, onMessage, onClose });
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
