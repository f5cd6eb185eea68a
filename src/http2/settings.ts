/** The SETTINGS of a connection (RFC 9113, section 6.5.2). */
import { ConnectionError, ErrorCode } from "./errors.js";
import { FRAME_HEADER_SIZE, FrameType, MAX_FRAME_SIZE, writeFrameHeader } from "./frames.js";
import { DEFAULT_TABLE_SIZE } from "./static-table.js";

export const Setting = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

export const DEFAULT_WINDOW = 65_535;
export const MAX_WINDOW = 0x7fff_ffff;

/**
 * The peer's settings, which limit what this end sends. At first they are the protocol's defaults.
 */
export interface PeerSettings {
  headerTableSize: number;
  maxStreams: number;
  initialWindow: number;
  maxHeaderListSize: number;
}

export function defaultSettings(): PeerSettings {
  return {
    headerTableSize: DEFAULT_TABLE_SIZE,
    maxStreams: Number.POSITIVE_INFINITY,
    initialWindow: DEFAULT_WINDOW,
    maxHeaderListSize: Number.POSITIVE_INFINITY,
  };
}

/** A complete SETTINGS frame. */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_SIZE + settings.length * 6);
  writeFrameHeader(frame, 0, settings.length * 6, FrameType.SETTINGS, 0, 0);
  for (const [index, [id, value]] of settings.entries()) {
    frame.writeUInt16BE(id, FRAME_HEADER_SIZE + index * 6);
    frame.writeUInt32BE(value, FRAME_HEADER_SIZE + index * 6 + 2);
  }
  return frame;
}

/**
 * Reads the payload of a SETTINGS frame into `settings`.
 * @param from the end that sent the frame; a server must not enable push
 * @throws {ConnectionError}
 */
export function readSettings(
  settings: PeerSettings,
  from: "client" | "server",
  buffer: Buffer,
  start: number,
  end: number,
): void {
  if ((end - start) % 6 !== 0) {
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a SETTINGS frame of ${end - start} bytes`);
  }
  for (let at = start; at < end; at += 6) {
    readSetting(settings, from, buffer.readUInt16BE(at), buffer.readUInt32BE(at + 2));
  }
}

function readSetting(settings: PeerSettings, from: "client" | "server", id: number, value: number): void {
  switch (id) {
    case Setting.HEADER_TABLE_SIZE:
      settings.headerTableSize = value;
      break;
    case Setting.ENABLE_PUSH:
      if (value > 1 || (value === 1 && from === "server")) throw invalid("SETTINGS_ENABLE_PUSH", value);
      break;
    case Setting.MAX_CONCURRENT_STREAMS:
      settings.maxStreams = value;
      break;
    case Setting.INITIAL_WINDOW_SIZE:
      if (value > MAX_WINDOW) throw invalid("SETTINGS_INITIAL_WINDOW_SIZE", value, ErrorCode.FLOW_CONTROL_ERROR);
      settings.initialWindow = value;
      break;
    case Setting.MAX_FRAME_SIZE:
      // This end never sends larger frames than the minimum of this setting.
      if (value < MAX_FRAME_SIZE || value > 2 ** 24 - 1) throw invalid("SETTINGS_MAX_FRAME_SIZE", value);
      break;
    case Setting.MAX_HEADER_LIST_SIZE:
      settings.maxHeaderListSize = value;
      break;
    default: // Unknown settings are ignored.
  }
}

function invalid(name: string, value: number, code: number = ErrorCode.PROTOCOL_ERROR): ConnectionError {
  return new ConnectionError(code, `${name} is ${value}`);
}
