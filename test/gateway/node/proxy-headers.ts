/** PROXY headers of version 2, including malformed ones. */
export const Command = { LOCAL: 0, PROXY: 1 } as const;
export const Family = { IPV4: 1, IPV6: 2, UNIX: 3 } as const;

interface Parts {
  readonly version?: number;
  readonly command?: number;
  readonly family?: number;
  readonly transport?: number;
  /** Addresses, ports and the bytes after them. */
  readonly body: Uint8Array | readonly number[];
}

export function binary({ version = 2, command = Command.PROXY, family = Family.IPV4, transport = 1, body }: Parts) {
  const fixed = [(version << 4) | command, (family << 4) | transport, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1"), Buffer.from(fixed), Buffer.from(body)]);
}

/** The addresses of a connection to 10.0.0.1:8080. */
export const ipv4 = (source: string): number[] => [...source.split(".").map(Number), 10, 0, 0, 1, 18, 103, 31, 144];

/** @param source 32 hexadecimal digits */
export const ipv6 = (source: string): number[] => [
  ...Buffer.from(source, "hex"),
  ...Buffer.alloc(16),
  18,
  103,
  31,
  144,
];
