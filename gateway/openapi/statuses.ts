/** The HTTP statuses that the options of a service set, in the operations of its document. */
import type { Endpoint } from "../../src/contract/endpoint.js";
import { Code } from "../../src/errors.js";
import type { JsonSchema } from "../../src/json/schema/scalars.js";
import { hasNoContent, type ServiceStatuses } from "../catalog/service-statuses.js";

type Responses = Readonly<Record<string, JsonSchema>>;

/** The path items, where each operation has the statuses with which its endpoint may respond. */
export function withStatuses(
  items: Iterable<[path: string, item: JsonSchema]>,
  endpoints: readonly Endpoint[],
  statuses: ServiceStatuses | undefined,
): [path: string, item: JsonSchema][] {
  if (statuses === undefined) return [...items];
  const streams = new Set(
    endpoints.filter(({ shape }) => shape === "server_streaming").map(({ resource }) => resource),
  );
  const changed = (member: unknown): unknown => {
    const { responses, "x-resource": resource } = Object(member) as { responses?: Responses; "x-resource"?: string };
    if (responses === undefined) return member;
    const isStream = resource !== undefined && streams.has(resource);
    return { ...(member as object), responses: responsesWith(responses, isStream, statuses) };
  };
  return Array.from(items, ([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([name, member]) => [name, changed(member)])),
  ]);
}

function responsesWith(
  { 200: success, ...others }: Responses,
  isStream: boolean,
  statuses: ServiceStatuses,
): Responses {
  const failure = { $ref: "#/components/responses/Failure" };
  const errors = statuses.ofErrors.map((status) => [status, hasNoContent(status) ? NO_CONTENT : failure]);
  if (success === undefined) return { ...Object.fromEntries(errors), ...others };
  const status = (isStream ? undefined : statuses.ofCode(Code.OK)) ?? 200;
  return {
    ...(statuses.options.statusMetadata !== "" && { "2XX": success }),
    ...Object.fromEntries(errors),
    [status]: hasNoContent(status) ? NO_CONTENT : success,
    ...others,
  };
}

const NO_CONTENT: JsonSchema = {
  description: "Nothing.",
  headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } },
};
