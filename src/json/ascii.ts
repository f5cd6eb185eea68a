/** Names of the ASCII bytes that JSON text is made of. */
export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const DIGIT_0 = 0x30;
export const DIGIT_9 = 0x39;
export const COLON = 0x3a;
export const UPPER_E = 0x45;
export const UPPER_T = 0x54;
export const UPPER_Z = 0x5a;
export const BRACKET_OPEN = 0x5b;
export const BACKSLASH = 0x5c;
export const BRACKET_CLOSE = 0x5d;
export const LOWER_E = 0x65;
export const LOWER_F = 0x66;
export const LOWER_N = 0x6e;
export const LOWER_S = 0x73;
export const LOWER_T = 0x74;
export const LOWER_U = 0x75;
export const BRACE_OPEN = 0x7b;
export const BRACE_CLOSE = 0x7d;

/** Bytes from here on are not ASCII: they are parts of UTF-8 sequences. */
export const NOT_ASCII = 0x80;
