/** What new services in Python and Go have in common: the contract, and how they join. */

/** @param options lines after the package */
export function protoOf(name: string, options = ""): string {
  return `syntax = "proto3";

package ${name};
${options}
// Greets people.
service ${serviceOf(name)} {
  // Greets a name.
  rpc Call(CallRequest) returns (CallResponse);

  // Greets every second, until the caller has gone or the deadline has passed.
  rpc Repeat(CallRequest) returns (stream CallResponse);
}

message CallRequest {
  // Who to greet, such as \`Ada\`.
  string name = 1;
}

message CallResponse {
  // The greeting, such as \`Hello Ada\`.
  string message = 1;

  // The account that calls, such as \`admin\`; empty for a caller who is not logged in.
  string account = 2;
}
`;
}

/** A template with the names of a service: `{{name}}` is `greeter`, `{{Service}}` is `Greeter`. */
export function filled(template: string, name: string): string {
  return template.replaceAll("{{name}}", name).replaceAll("{{Service}}", serviceOf(name));
}

function serviceOf(name: string): string {
  return name[0]?.toUpperCase() + name.slice(1);
}

/** The configuration of `portico dev`, and the same as a command for another Portico. */
export function joined(name: string): { readonly json: string; readonly readme: string } {
  const service = { name, target: "127.0.0.1:9000", identity: true };
  return {
    json: `${JSON.stringify({ services: [service] }, null, 2)}\n`,
    readme: `## Elsewhere

    portico services add ${name} 127.0.0.1:9000 --identity      # where Portico runs

With \`--identity\` (in \`portico.json\`: \`"identity": true\`) each call names its caller in the metadata \`x-portico-account\`. The service
believes everyone who can reach its port, so let only Portico reach it: by default it listens at 127.0.0.1. The rules of Portico decide who may
call; the service decides nothing but what its code says. Where others can reach the port, use \`--assertion\`, which is signed.
`,
  };
}
