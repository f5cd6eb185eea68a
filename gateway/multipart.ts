/**
 * `multipart/form-data` (RFC 7578), as HTML forms send files: a file fills the bytes field of its name, and other parts
 * are read like query parameters. Only requests that have a bytes field may come in this way.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { HttpError } from "./errors.js";
import type { Target } from "./route.js";

const FORM_DATA = /^multipart\/form-data[ \t]*;/i;

/** Whether a body of this content type is a form, for a request that a form can fill. */
export function isForm(contentType: string | undefined, type: DescMessage): boolean {
  return contentType !== undefined && FORM_DATA.test(contentType) && takesForms(type);
}

/** Whether a form can fill a request. */
export function takesForms({ fields }: DescMessage): boolean {
  return fields.some(takesFile);
}

/**
 * The request's wire bytes.
 * @throws {HttpError} 400 (rejects) when the body is no form, or a file is for no bytes field.
 * @throws {JsonError} (rejects) when a part does not fit its field.
 */
export async function readForm({ endpoint, request }: Target, contentType: string, body: Uint8Array) {
  const parameters: [string, string][] = [];
  for (const [name, value] of await parseForm(contentType, body)) {
    parameters.push([name, typeof value === "string" ? value : await base64Of(endpoint.method.input, name, value)]);
  }
  return request.readQuery(parameters);
}

async function parseForm(contentType: string, body: Uint8Array): Promise<FormData> {
  try {
    return await new Response(body, { headers: { "content-type": contentType } }).formData();
  } catch (cause) {
    throw new HttpError(400, "The body is no multipart/form-data with the boundary that Content-Type names", { cause });
  }
}

async function base64Of({ fields, typeName }: DescMessage, name: string, file: File): Promise<string> {
  const field = fields.find((one) => one.name === name || one.jsonName === name);
  if (field === undefined || !takesFile(field)) {
    throw new HttpError(400, `${name.slice(0, 64)}: a file can only fill a field of bytes of ${typeName}`);
  }
  return Buffer.from(await file.arrayBuffer()).toString("base64");
}

function takesFile({ scalar, fieldKind }: DescField): boolean {
  return scalar === ScalarType.BYTES && fieldKind !== "map";
}
