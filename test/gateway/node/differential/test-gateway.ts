/**
 * The gateway's HTTP port with a handler that records its requests, and reads each body to its end.
 */
import type { HttpError } from "../../../../gateway/http/errors.js";
import type { GatewayResponse, RequestHandler } from "../../../../gateway/http/message.js";
import { listen } from "../../../../gateway/node/listen.js";
import type { Limits } from "../dial.js";
import type { RecordedRequest, RecordingServer } from "./recording.js";

export async function gateway(limits: Limits): Promise<RecordingServer> {
  const handler: RequestHandler = async (request) => {
    const { recording } = recorded;
    const response = (status: number, number: number): GatewayResponse => {
      return { status, headers: ["Content-Length", "0", "Number", String(number)], body: "", length: 0 };
    };
    if (request.method === "" || request.method === "CONNECT") {
      recording.refused = request.error?.status ?? 0;
      return response(recording.refused, 0);
    }
    const { method, target, rawHeaders: headers, upgrade = false, error: fault } = request;
    const recordedRequest: RecordedRequest = { method, target, headers, upgrade };
    const number = recording.requests.push(recordedRequest);
    if (fault !== undefined) recordedRequest.error = fault.status;
    if (!upgrade && fault?.status !== 417) {
      try {
        recordedRequest.body = Buffer.concat(await request.body()).toString("latin1");
      } catch (error) {
        recordedRequest.error ??= (error as HttpError).status;
      }
    }
    recordedRequest.answered = true;
    return response(recordedRequest.error ?? 200, number);
  };
  const port = await listen(handler, { host: "127.0.0.1", port: 0 }, limits);
  const recorded: RecordingServer = {
    port: port.address.port,
    recording: { requests: [] },
    close: () => port.close(0),
  };
  return recorded;
}
