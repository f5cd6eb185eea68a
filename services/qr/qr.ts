/** Generates QR codes with the library `qrcode`. */
import { type QRCodeErrorCorrectionLevel, toBuffer, toString as toText } from "qrcode";
import { Correction, Format, QrService } from "../../src/gen/qr/qr.js";
import { invalidArgument, part } from "../../src/kit/index.js";
import { checkBytes, checkNumber } from "../patterns/checks.js";

/**
 * Fits into a QR code with the highest error correction, which holds 1273 bytes (ISO/IEC 18004,
 * table 7).
 */
const TEXT = { min: 1, max: 1024 };
/**
 * The size of a PNG in pixels. A larger one would block other calls of the process for too long.
 */
const SIZE = { min: 64, max: 512, absent: 256 };

const LEVELS: ReadonlyMap<Correction, QRCodeErrorCorrectionLevel> = new Map([
  [Correction.CORRECTION_UNSPECIFIED, "M"],
  [Correction.LOW, "L"],
  [Correction.MEDIUM, "M"],
  [Correction.QUARTILE, "Q"],
  [Correction.HIGH, "H"],
]);

/** The service `qr`. */
export const parts = [
  part(QrService, {
    async generate({ text, format, size, correction }) {
      checkBytes("text", text, TEXT);
      const width = checkNumber("size", size, SIZE);
      const errorCorrectionLevel = LEVELS.get(correction);
      if (errorCorrectionLevel === undefined) throw invalidArgument(`correction: is unknown, got ${correction}`);
      switch (format) {
        case Format.FORMAT_UNSPECIFIED:
        case Format.PNG: {
          // `scale` applies if the pattern has more modules than the image would have pixels.
          const image = await toBuffer(text, { type: "png", width, scale: 1, errorCorrectionLevel });
          return { image, mediaType: "image/png" };
        }
        case Format.SVG: {
          const image = await toText(text, { type: "svg", errorCorrectionLevel });
          return { image: Buffer.from(image), mediaType: "image/svg+xml" };
        }
        default:
          throw invalidArgument(`format: is unknown, got ${format}`);
      }
    },
  }),
];
