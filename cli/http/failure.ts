/** A call that reached a server and failed: what the gateway answered, for people and as JSON for programs. */
import { CommandError, type Exit } from "../terminal/exit.js";

/** HTTP status of an endpoint that takes a stream of messages, and so is not called by plain HTTP. */
export const TAKES_STREAM = 426;

/** What may help where a call failed. */
export interface Hint {
  readonly text: string;
  readonly exit: Exit;
}

/** What an error is made from. */
interface FailedAnswer {
  /** HTTP status. */
  readonly status: number;
  readonly body: string;
  /** `X-Request-Id` of the response, by which the operator finds the call in the log. */
  readonly requestId: string | undefined;
}

/** The error object that every error of Portico's is. */
interface ErrorObject {
  readonly Id?: string;
  readonly Code: number;
  readonly Detail: string;
  readonly Status?: string;
  readonly Details?: unknown;
}

/** The gateway's answer to a call that failed. The message is its `Detail`, and the `Details` where there are any. */
export class CallFailure extends CommandError {
  /** HTTP status. */
  readonly status: number;
  /** The service that the call was directed to; `gateway` when none was found, undefined when it was not Portico. */
  readonly service: string | undefined;
  readonly #object: ErrorObject;
  readonly #requestId: string | undefined;

  constructor(
    { status, body, requestId }: FailedAnswer,
    private readonly hint?: Hint,
  ) {
    const object = readError(body) ?? { Code: status, Detail: "The answer is not Portico's. Is the address right?" };
    const details = object.Details === undefined ? [] : [JSON.stringify(object.Details, null, 2)];
    super([object.Detail, ...details, ...(hint ? [hint.text] : [])].join("\n"), hint?.exit);
    this.status = status;
    this.service = object.Id;
    this.#object = object;
    this.#requestId = requestId;
  }

  /** The same failure with words after its detail. */
  with(more: string): CallFailure {
    const body = JSON.stringify({ ...this.#object, Detail: this.#object.Detail + more });
    return new CallFailure({ status: this.status, body, requestId: this.#requestId }, this.hint);
  }

  override get trace(): string {
    const request = this.#requestId === undefined ? "" : `, request ${this.#requestId}`;
    return `HTTP ${this.status}${request}`;
  }

  override toJSON(): object {
    return {
      ...this.#object,
      ...(this.#requestId !== undefined && { RequestId: this.#requestId }),
      ...(this.hint && { Hint: this.hint.text }),
      Exit: this.exit,
    };
  }
}

/** An error object of Portico's; undefined for everything else that may stand where one could. */
function readError(json: string): ErrorObject | undefined {
  try {
    const object = JSON.parse(json);
    if (typeof object?.Detail === "string") return object;
  } catch {
    // Then it is somebody else's.
  }
  return undefined;
}

/** The failure in the last line of a stream (docs/streams.md); undefined for a message. */
export function failureOfLine(line: string, requestId: string | undefined): CallFailure | undefined {
  const [, json = ""] = /^\{"error":(\{"Id":.*\})\}$/s.exec(line) ?? [];
  return failureOfFrame(json, requestId);
}

/** The same for the last frame of a WebSocket. */
export function failureOfFrame(json: string, requestId: string | undefined): CallFailure | undefined {
  const error = json.startsWith('{"Id":') ? readError(json) : undefined;
  if (error?.Code === undefined) return undefined;
  return new CallFailure({ status: error.Code, body: json, requestId });
}
