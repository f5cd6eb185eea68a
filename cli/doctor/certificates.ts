/** The certificates that the settings name: whether they can be used, and for how long. */
import {
  type CertificateSettings,
  GRPC_CERTIFICATES,
  HTTP_CERTIFICATES,
  namesOf,
  readCertificates,
  timeFaultOf,
  validityOf,
} from "../../src/config/certificates.js";
import { type Config, SETTINGS } from "../../src/config/config.js";
import { ConfigError, HTTP_PORT, type RoleName } from "../../src/config/setting.js";
import { type Finding, findingsOf, utc } from "./finding.js";

const { ok, warning, problem } = findingsOf("certificates");

export function checkCertificates(role: RoleName, config: Config): readonly Finding[] {
  const groups: CertificateSettings[] = [GRPC_CERTIFICATES, ...(HTTP_PORT.includes(role) ? [HTTP_CERTIFICATES] : [])];
  const findings = groups.flatMap((group) => checkGroup(group, config));
  return findings.length > 0 ? findings : [ok("The settings name no certificate: the ports do not speak TLS")];
}

function checkGroup(group: CertificateSettings, config: Config): Finding[] {
  try {
    const { ca, cert, others = [] } = readCertificates(config, group);
    const where = `certificate in ${SETTINGS[group.cert].variable}`;
    const certs = [...(cert === undefined ? [] : [cert]), ...others.map((other) => other.cert)];
    return [
      ...certs.map((one) => checkTime(one, others.length > 0 ? `${where} for ${namesOf(one).join(", ")}` : where)),
      ...(ca === undefined ? [] : [checkTime(ca, `certificate authority in ${SETTINGS[group.ca].variable}`)]),
    ];
  } catch (error) {
    if (error instanceof ConfigError) return [problem(`${error.message}. Correct the setting, or the file`)];
    throw error;
  }
}

/**
 * @param cert PEM or DER
 * @param name such as `certificate in PORTICO_TLS_CERT`
 */
export function checkTime(cert: Buffer, name: string): Finding {
  const { from, to, fault } = validityOf(cert);
  const range = `valid from ${utc(from)} to ${utc(to)}`;
  if (fault !== undefined) return problem(`The ${name} ${fault} (${range}): replace it`);
  return timeFaultOf(cert) === undefined
    ? ok(`The ${name} is ${range}`)
    : warning(`The ${name} expires soon (${range}): replace it`);
}
