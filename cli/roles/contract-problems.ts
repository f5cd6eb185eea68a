/**
 * Finds the parts of an added service's contract that a server will not serve as they are declared.
 * For that it reads the contract once.
 */
import { existsSync } from "node:fs";
import { applyHttpRules } from "../../services/registry/apply-http-rules.js";
import { readContract } from "../../services/registry/contract.js";
import { readDescriptorFile, readOnce } from "../../services/registry/external-reading.js";
import { readHttpRules } from "../../services/registry/http-rules.js";
import { problemsOf } from "../../services/registry/shared-names.js";
import { formatServiceTarget } from "../../src/address/srv.js";
import type { Config } from "../../src/config/config.js";
import type { ExternalService } from "../../src/config/configured-services.js";
import { MalformedFileError } from "../../src/config/secret-files.js";
import { createLog } from "../../src/log.js";
import { externalConnector } from "../../src/process/external-channel.js";
import { openTransport, Process } from "../../src/process/process.js";
import { checkTlsFiles } from "../../src/process/service-secrets.js";
import { CommandError, EXIT } from "../terminal/exit.js";

/** Maximum time for reading the contract from the targets, in milliseconds. */
const READ_MS = 2_000;

/** The server of a service does not return its contract, or not yet. */
export class UnreadContractError extends Error {}

/**
 * The problems of a service's contract. A descriptor file that does not exist yet is no problem:
 * the server reads it later.
 * @throws {UnreadContractError}
 * @throws {CommandError} when it is not the contract of a service, for example because it has a
 * reserved name
 */
export async function problemsIn(service: ExternalService, config: Config): Promise<readonly string[]> {
  const { descriptors: given, name, targets, options } = service;
  const rules = await readHttpRules(options.httpRules).catch((error: Error) => {
    throw new CommandError(`Nothing was added: ${error.message}`, EXIT.usage);
  });
  try {
    checkTlsFiles(config.credentials, options);
  } catch (error) {
    // A file that is not there yet is told when the contract is read.
    if (error instanceof MalformedFileError) throw new CommandError(`Nothing was added: ${error.message}`, EXIT.usage);
  }
  const file = typeof given === "string" ? given : undefined;
  if (file !== undefined && !existsSync(file)) return [];
  const reflected = file === undefined ? await reflect(service, config) : undefined;
  try {
    const contract = reflected ?? (await readDescriptorFile(file as string));
    const { descriptors, problems } = applyHttpRules(contract, rules);
    const checked = readContract(name, descriptors, contract.grpcServices);
    return [...problems, ...problemsOf(checked, options.bindingPrefix)];
  } catch (error) {
    const source = file ?? targets.map(({ target }) => formatServiceTarget(target)).join(", ");
    throw new CommandError(`Nothing was added: ${source}: ${(error as Error).message}`, EXIT.usage);
  }
}

async function reflect(service: ExternalService, config: Config) {
  const reading = new Process(config, createLog("silent"));
  try {
    const transport = await openTransport(reading);
    const connect = externalConnector({ ...config, transport });
    return await readOnce(
      service,
      (target) => connect(target, { service: service.name, options: service.options }),
      READ_MS,
    );
  } catch (error) {
    throw new UnreadContractError((error as Error).message, { cause: error });
  } finally {
    await reading.abandonStart();
  }
}
