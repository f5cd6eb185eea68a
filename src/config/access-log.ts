/**
 * The access log: one line in the log for each request of the HTTP port and each call of the gRPC
 * port.
 */
import { hostname } from "node:os";
import { formatHttpAddress, type HttpAddress } from "../address/address.js";
import type { Logger } from "../log.js";
import type { Config } from "./config.js";
import type { RoleName } from "./setting.js";

export type AccessLogSettings = Pick<Config, "accessLog" | "accessLogSample">;

/**
 * Decides whether a request gets a line.
 * @param isError whether its HTTP status is 400 or higher, or its gRPC code is not OK. Such a
 * request is never left out by the sample.
 * @returns 0 for no line; otherwise the share of such requests that get one, so a line stands for
 * 1 / share requests
 */
export function accessLogShare({ accessLog, accessLogSample }: AccessLogSettings, isError: boolean): number {
  if (accessLog === "off") return 0;
  if (isError) return 1;
  if (accessLog === "errors") return 0;
  return accessLogSample === 1 || Math.random() < accessLogSample ? accessLogSample : 0;
}

/**
 * The log for the lines of one port. Each line says which process has written it.
 * @param role undefined for a process that has none, as in tests
 */
export function accessLogOf(log: Logger, role: RoleName | undefined, port: HttpAddress): Logger {
  return log.child({ role, instance: `${hostname()} ${formatHttpAddress(port)}` });
}
