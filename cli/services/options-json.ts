/** Options of a service as the API has them in JSON, and as the table SERVICE_OPTIONS sets them. */
import type { ServiceOptions as Json } from "../../src/api/types.js";
import { noServiceOptions, SERVICE_OPTIONS } from "../../src/config/service-options.js";
import type { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";

/** Options that this version does not know are kept, so that a change of another one loses none. */
export function optionsOfJson(json: Json | undefined): ServiceOptions {
  if (json === undefined) return noServiceOptions();
  const { callTime, jsonNames, rest, ...same } = json;
  const options: ServiceOptions = Object.assign(noServiceOptions(), structuredClone(same));
  SERVICE_OPTIONS.callTime.set(options, callTime === undefined ? [] : [callTime]);
  SERVICE_OPTIONS.names.set(options, jsonNames === "PROTO" ? ["proto"] : []);
  SERVICE_OPTIONS.rest.set(options, rest === "GRPC_GATEWAY" ? ["grpc-gateway"] : []);
  return options;
}

export function jsonOfOptions(options: ServiceOptions): Json {
  const { callTime: _time, _unknownFields: _unknown, ...same } = options;
  const [callTime] = SERVICE_OPTIONS.callTime.get(options);
  const isProto = SERVICE_OPTIONS.names.get(options)[0] === "proto";
  const isGateway = SERVICE_OPTIONS.rest.get(options)[0] === "grpc-gateway";
  const json: Json = {
    ...(same as Omit<Json, "callTime" | "jsonNames" | "rest">),
    jsonNames: isProto ? "PROTO" : "JSON_NAMES_UNSPECIFIED",
    rest: isGateway ? "GRPC_GATEWAY" : "REST_STYLE_UNSPECIFIED",
    ...(callTime !== undefined && { callTime }),
  };
  // The gateway refuses members that are null or that it does not know.
  return JSON.parse(JSON.stringify(json, (key, value) => (key === "_unknownFields" ? undefined : value)));
}

/** The options that are set, as flags: `--call-time=120s --identity`. */
export function shownOptions(options: ServiceOptions): string[] {
  return Object.entries(SERVICE_OPTIONS).flatMap(([key, option]) => {
    const texts = option.get(options);
    if (option.value === undefined) return texts.includes("true") ? [key] : [];
    return texts.map((text) => `${key}=${key === "httpRules" ? `(${text.length} characters)` : text}`);
  });
}
