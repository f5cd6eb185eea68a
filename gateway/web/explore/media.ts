/**
 * Bytes as what they are: their type, by their first bytes and never by what a service says of
 * them, and what a person calls them, such as "1.5 kB, PNG, 256×256".
 */

export type MediaKind = "image" | "audio" | "text" | "other";

interface Format {
  readonly kind: MediaKind;
  /** Such as `PNG`. */
  readonly title: string;
  readonly type: string;
  readonly extension: string;
}

export interface Media extends Format {
  /** Such as `1.5 kB, PNG, 256×256`. */
  readonly summary: string;
}

const OTHER: Format = { kind: "other", title: "binary", type: "application/octet-stream", extension: "bin" };
const TEXT: Format = { kind: "text", title: "text", type: "text/plain;charset=utf-8", extension: "txt" };

/** Images that are shown. All others are only downloaded. */
const PNG: Format = { kind: "image", title: "PNG", type: "image/png", extension: "png" };
const JPEG: Format = { kind: "image", title: "JPEG", type: "image/jpeg", extension: "jpg" };
const GIF: Format = { kind: "image", title: "GIF", type: "image/gif", extension: "gif" };
const WEBP: Format = { kind: "image", title: "WebP", type: "image/webp", extension: "webp" };
const SVG: Format = { kind: "image", title: "SVG", type: "image/svg+xml", extension: "svg" };
const MP3: Format = { kind: "audio", title: "MP3", type: "audio/mpeg", extension: "mp3" };
const WAV: Format = { kind: "audio", title: "WAV", type: "audio/wav", extension: "wav" };
const OGG: Format = { kind: "audio", title: "Ogg", type: "audio/ogg", extension: "ogg" };
const FLAC: Format = { kind: "audio", title: "FLAC", type: "audio/flac", extension: "flac" };

/** Bytes at the beginning of each format; `.` is any byte. */
const SIGNATURES: readonly (readonly [RegExp, Format])[] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the signature has one.
  [/^\x89PNG\r\n\x1a\n/, PNG],
  [/^\xff\xd8\xff/, JPEG],
  [/^GIF8[79]a/, GIF],
  [/^RIFF.{4}WEBP/s, WEBP],
  [/^RIFF.{4}WAVE/s, WAV],
  [/^OggS/, OGG],
  [/^fLaC/, FLAC],
  [/^(?:ID3|\xff[\xfb\xf3\xf2])/, MP3],
  [/^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]/i, SVG],
];

export function mediaOf(bytes: Uint8Array): Media {
  const start = String.fromCharCode(...bytes.subarray(0, 1_024));
  const known = SIGNATURES.find(([signature]) => signature.test(start))?.[1];
  const format = known ?? (textOf(bytes) === undefined ? OTHER : TEXT);
  const [width, height] = (format.kind === "image" && dimensionsOf(bytes, format)) || [];
  const parts = [sizeInWords(bytes.length), format.title, ...(width ? [`${width}×${height}`] : [])];
  return { ...format, summary: parts.join(", ") };
}

/** A size for people: `1.5 kB`, where kB is 1,024 bytes. */
export function sizeInWords(bytes: number): string {
  if (bytes < 1_024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const kilo = bytes / 1_024;
  return kilo < 1_000 ? `${kilo.toFixed(kilo < 10 ? 1 : 0)} kB` : `${(kilo / 1_024).toFixed(1)} MB`;
}

/** The text that bytes are in UTF-8; undefined if they are none, or no text that can be read. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they tell bytes from text.
    return /[\x00-\x08\x0e-\x1f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The bytes of a base64 text, in its usual or its URL-safe alphabet; undefined if it is none. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(base64.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (one) => one.charCodeAt(0));
  } catch {
    return undefined;
  }
}

type Dimensions = readonly [width: number, height: number];

/** Width and height in pixels; undefined if the image does not say them. */
function dimensionsOf(bytes: Uint8Array, { title }: Format): Dimensions | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    if (title === "PNG") return [view.getUint32(16), view.getUint32(20)];
    if (title === "GIF") return [view.getUint16(6, true), view.getUint16(8, true)];
    if (title === "JPEG") return jpegDimensions(view);
    return title === "WebP" ? webpDimensions(view) : undefined;
  } catch {
    // The image is cut off.
    return undefined;
  }
}

/** The frame header of a JPEG (ITU T.81 §B.2.2). @throws {RangeError} */
function jpegDimensions(view: DataView): Dimensions | undefined {
  for (let at = 2; view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)];
  }
  return undefined;
}

/** The first chunk of a WebP (RFC 9649). @throws {RangeError} */
function webpDimensions(view: DataView): Dimensions | undefined {
  const at24 = (at: number) => view.getUint16(at, true) + (view.getUint8(at + 2) << 16);
  switch (String.fromCharCode(...[12, 13, 14, 15].map((at) => view.getUint8(at)))) {
    case "VP8 ":
      return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
    case "VP8L": {
      const bits = view.getUint32(21, true);
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    }
    case "VP8X":
      return [at24(24) + 1, at24(27) + 1];
  }
  return undefined;
}
