/** Whether the authorities of a gateway or service can be reached, and accept its enrolment. */
import { formatGrpcTarget, type GrpcTarget } from "../../src/address/address.js";
import { type Config, SETTINGS } from "../../src/config/config.js";
import { Code, StatusError } from "../../src/errors.js";
import { PolicyService } from "../../src/gen/portico/auth/v1/policy.js";
import { createLog } from "../../src/log.js";
import { readEnrolment } from "../../src/process/join.js";
import { openTransport, Process } from "../../src/process/process.js";
import { unary } from "../../src/rpc/client.js";
import type { Transport } from "../../src/rpc/transport.js";
import { describeError } from "../roles/readiness.js";
import { DEADLINE_MS, type Finding, findingsOf } from "./finding.js";

const { ok, problem } = findingsOf("authority");

/**
 * @param name of the enrolment: `gateway`, or the service's name
 * @throws {ConfigError} without an enrolment token, or with certificates that cannot be used
 */
export async function checkAuthorities(name: string, config: Config): Promise<readonly Finding[]> {
  const enrolment = readEnrolment(name, config);
  const parts = new Process(config, createLog("silent"));
  try {
    const transport = await openTransport(parts);
    return await Promise.all(config.authority.map((target) => checkAuthority(target, { transport, enrolment, name })));
  } finally {
    await parts.stop({ noticeMs: 0, drainMs: 0 });
  }
}

interface Caller {
  readonly transport: Transport;
  readonly enrolment: string;
  readonly name: string;
}

async function checkAuthority(target: GrpcTarget, { transport, enrolment, name }: Caller): Promise<Finding> {
  const channel = transport.connect(target);
  const whose = `The authority at ${formatGrpcTarget(target)}`;
  try {
    const deadlineMonotonicMs = performance.now() + DEADLINE_MS;
    const metadata = [["authorization", `Bearer ${enrolment}`]] as const;
    await unary(channel, PolicyService.listNamespaceIds, {}, { metadata, deadlineMonotonicMs });
    return ok(`${whose} responds, and accepts the enrolment token`);
  } catch (error) {
    const isRefused = error instanceof StatusError && REFUSED.includes(error.code);
    const create = `Create one where it runs: portico auth create enrolment ${name}`;
    const remedy = isRefused ? create : `Start it, or correct ${SETTINGS.authority.variable}`;
    return problem(`${whose} ${describeError(error)}. ${remedy}`);
  } finally {
    channel.close();
  }
}

const REFUSED: readonly Code[] = [Code.UNAUTHENTICATED, Code.PERMISSION_DENIED];
