/**
 * Forms: request messages from `multipart/form-data` (RFC 7578), as HTML forms send files. A file
 * fills the bytes field of its name. The other parts are read like query parameters. Only a message
 * with a bytes field can be sent as a form.
 */
import { isUtf8 } from "node:buffer";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { MessageCodec } from "../../../../src/json/codec.js";
import { beginning } from "../../../../src/json/read/errors.js";
import { asBuffer } from "../../../../src/wire/buffer.js";
import { HttpError } from "../../../http/errors.js";
import { type FormPart, partsOf } from "./multipart.js";

const MAX_ECHO = 40;
const FORM_DATA = /^multipart\/form-data[ \t]*;/i;

/** Whether a body of this content type is a form that can fill the request message. */
export function isForm(contentType: string | undefined, type: DescMessage): boolean {
  return contentType !== undefined && FORM_DATA.test(contentType) && takesForms(type);
}

/** Whether a request message can be sent as a form: it must have a field for a file. */
export function takesForms({ fields }: DescMessage): boolean {
  return fields.some((field) => takes(field, ScalarType.BYTES));
}

/**
 * Reads the request message, and returns its wire bytes.
 * @throws {HttpError} 400 when the body is no form, a file has no bytes field, or text is not UTF-8
 * @throws {JsonError} when a text does not fit its field
 */
export function readForm(type: DescMessage, codec: MessageCodec, contentType: string, body: Uint8Array): Uint8Array {
  const parameters: [string, string][] = [];
  const texts = new Set<DescField | undefined>();
  // Files and strings: their bytes are the same in the form and on the wire.
  const verbatim: [field: DescField, content: Uint8Array][] = [];
  for (const part of partsOf(contentType, asBuffer(body))) {
    const { name, isFile, content } = part;
    const field = type.fields.find((one) => one.name === name || one.jsonName === name);
    const isVerbatim = field !== undefined && takes(field, isFile ? ScalarType.BYTES : ScalarType.STRING);
    checkPart(part, isVerbatim, type);
    if (isVerbatim) verbatim.push([field, content]);
    else texts.add(field);
    // The codec checks whether the field may be set. If it occurs twice on the wire, the last value
    // counts.
    if (field?.fieldKind !== "list" || !isVerbatim) parameters.push([name, isVerbatim ? "" : content.toString()]);
  }
  const chunks = [codec.readQuery(parameters)];
  for (const [field, content] of verbatim) {
    if (texts.has(field)) throw new HttpError(400, `${field.name}: its parts must be files or text, not both`);
    chunks.push(lengthDelimited(field.number, content.length), content);
  }
  return Buffer.concat(chunks);
}

/** The tag and length that precede a field's content on the wire. */
function lengthDelimited(number: number, length: number): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(length).finish();
}

function checkPart({ name, isFile, content }: FormPart, isVerbatim: boolean, { typeName }: DescMessage): void {
  const invalid = (reason: string) => new HttpError(400, `${beginning(name, MAX_ECHO)}: ${reason}`);
  if (isFile && !isVerbatim) throw invalid(`a file can only fill a field of bytes of ${typeName}`);
  if (!isFile && !isUtf8(content)) throw invalid("the text is not UTF-8");
}

function takes({ scalar, fieldKind }: DescField, type: ScalarType): boolean {
  return scalar === type && fieldKind !== "map";
}
