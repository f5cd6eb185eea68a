/** The paths that an endpoint has by `google.api.http` annotations, as its service's OpenAPI document has them. */
import type { OpenApi } from "./document.js";

export interface RestPath {
  /** `GET` */
  readonly method: string;
  /** With the names of parameters in braces: `/shelves/{shelf}/books`. */
  readonly path: string;
  readonly tokenNeeded: boolean;
  /** Of the body: `application/json`, any type, or none. */
  readonly takes: "json" | "bytes" | undefined;
  readonly example: unknown;
}

interface Operation {
  readonly "x-resource"?: string;
  readonly security?: readonly object[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly example?: unknown }>> };
}

/** @param endpoint its name in the service, such as `Library.GetBook` */
export function restPathsOf({ paths }: OpenApi, endpoint: string): RestPath[] {
  return Object.entries(paths).flatMap(([path, item]) => {
    if (item["x-binding"] !== true) return [];
    return Object.entries(item as Readonly<Record<string, Operation | true>>).flatMap(([method, operation]) => {
      if (operation === true || operation["x-resource"]?.split(":").slice(2).join(":") !== endpoint) return [];
      return [{ method: method.toUpperCase(), path, ...described(operation) }];
    });
  });
}

function described({ security = [], requestBody }: Operation): Pick<RestPath, "tokenNeeded" | "takes" | "example"> {
  const content = requestBody?.content ?? {};
  const json = content["application/json"];
  return {
    tokenNeeded: security.every((way) => Object.keys(way).length > 0),
    takes: json !== undefined ? "json" : "*/*" in content ? "bytes" : undefined,
    example: json?.example,
  };
}

/** The call by curl. Names of parameters stand for their values. */
export function curlOf({ method, path, tokenNeeded, takes, example = {} }: RestPath, origin: string): string {
  const parts = [
    method === "GET" ? "curl" : method === "HEAD" ? "curl -I" : `curl -X ${method}`,
    ...(tokenNeeded ? ['-H "Authorization: Bearer $PORTICO_TOKEN"'] : []),
    ...(takes === "json" ? [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(example))}`] : []),
    ...(takes === "bytes" ? [`-H 'Content-Type: application/octet-stream'`, "-T file.bin"] : []),
    quoted(origin + path.replaceAll(/\{([^{}]*)\}/g, "$1")),
  ];
  return parts.join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
