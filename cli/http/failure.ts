/** A call that reached a server and failed: what the gateway answered, for people and as JSON for programs. */
import { type ErrorObject, readError, readStreamError } from "../../src/api/errors.js";
import { CommandError, type Exit } from "../terminal/exit.js";

/** HTTP status of an endpoint that takes a stream of messages, and so is not called by plain HTTP. */
export const TAKES_STREAM = 426;

/** What may help where a call failed. */
export interface Hint {
  readonly text: string;
  readonly exit: Exit;
}

/** The response of a call that failed. */
interface FailedResponse {
  /** HTTP status. */
  readonly status: number;
  readonly body: string;
  /** `X-Request-Id` of the response, by which the operator finds the call in the log. */
  readonly requestId: string | undefined;
}

/** An error object, or what stands in for it where something else than Portico answered. */
type ErrorMembers = Partial<ErrorObject> & Pick<ErrorObject, "Code" | "Detail">;

/** The gateway's answer to a call that failed. The message is its `Detail`, and the `Details` where there are any. */
export class CallFailure extends CommandError {
  /** HTTP status. */
  readonly status: number;
  /** The service that the call was directed to; `gateway` when none was found, undefined when it was not Portico. */
  readonly service: string | undefined;
  readonly #object: ErrorMembers;
  readonly #requestId: string | undefined;
  readonly #hint: Hint | undefined;

  constructor({ status, body, requestId }: FailedResponse, hint?: Hint) {
    const object: ErrorMembers = readError(body) ?? {
      Code: status,
      Detail: "The answer is not Portico's. Is the address right?",
    };
    const details = object.Details === undefined ? [] : [JSON.stringify(object.Details, null, 2)];
    super([object.Detail, ...details, ...(hint ? [hint.text] : [])].join("\n"), hint?.exit);
    this.status = status;
    this.service = object.Id;
    this.#object = object;
    this.#requestId = requestId;
    this.#hint = hint;
  }

  /** The same failure with words after its detail. */
  with(more: string): CallFailure {
    const body = JSON.stringify({ ...this.#object, Detail: this.#object.Detail + more });
    return new CallFailure({ status: this.status, body, requestId: this.#requestId }, this.#hint);
  }

  override get trace(): string {
    const request = this.#requestId === undefined ? "" : `, request ${this.#requestId}`;
    return `HTTP ${this.status}${request}`;
  }

  override toJSON(): object {
    return {
      ...this.#object,
      ...(this.#requestId !== undefined && { RequestId: this.#requestId }),
      ...(this.#hint && { Hint: this.#hint.text }),
      Exit: this.exit,
    };
  }
}

/** The failure in the last line of a stream (docs/streams.md); undefined for a message. */
export function failureOfLine(line: string, requestId: string | undefined): CallFailure | undefined {
  return failureOf(readStreamError(line), requestId);
}

/** The same for the last frame of a WebSocket, which is the error object itself. */
export function failureOfFrame(frame: string, requestId: string | undefined): CallFailure | undefined {
  return failureOf(frame.startsWith('{"Id":') ? readError(frame) : undefined, requestId);
}

function failureOf(error: ErrorObject | undefined, requestId: string | undefined): CallFailure | undefined {
  if (error === undefined) return undefined;
  return new CallFailure({ status: error.Code, body: JSON.stringify(error), requestId });
}
