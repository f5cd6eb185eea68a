// How a command line ends without a gateway: its exit code, and a line that says what to do.
import t from "tap";
import { portico } from "./command-line.js";

type Row = readonly [args: string, exit: number, said: RegExp];

const rows: Row[] = [
  ["--version", 0, /^portico \d+\.\d+\.\d+\n$/],
  ["", 0, /^Examples:\n {2}portico server/],
  ["help auth create rule", 0, /^Examples:\n {2}portico auth create rule --access=granted/],
  ["auth list", 2, /^Examples:\n {2}portico auth list rules/],

  // Usage errors: exit code 2, with a suggestion and a pointer to the help.
  ["auth lst rules", 2, /^Unknown command 'lst'\n\(Did you mean list\?\)\nFor help: portico auth --help\n$/],
  ["user tokn", 2, /^Too many arguments for 'user'\. .*\n\(Did you mean token\?\)\nFor help: portico user --help\n$/],
  ["user xyzzy", 2, /^Too many arguments for 'user'\. .*\nFor help: portico user --help\n$/],
  ["auth list ruls", 2, /Did you mean rules\?/],
  ["logn", 2, /^There is no command or service logn\. Did you mean login\?\n/],
  ["help auth rules", 2, /^There is no command auth rules\n$/],
  ["help logn", 2, /^There is no command or service logn\. Did you mean login\?\n/],
  ["help helloworld", 1, /^Portico does not respond/],
  ["login --acount bob", 2, /^Unknown option '--acount'\n\(Did you mean --account\?\)/],
  ["login surplus", 2, /^Too many arguments for 'login'/],
  ["auth delete rule", 2, /^Missing required argument 'id'\nFor help: portico auth delete rule --help\n$/],
  ["auth create rule --scope=* --resource=*:*:* x", 2, /^Required option '--access <access>' not specified/],
  [
    "auth create rule --acces=granted --scope=* --resource=*:*:* x",
    2,
    /^Unknown option '--acces'\n\(Did you mean --access\?\)\n/,
  ],
  ["auth create rule --acces granted x", 2, /^Unknown option '--acces'\n\(Did you mean --access\?\)\n/],
  ["auth create rule --xyzzy=1 x", 2, /^Required option '--access <access>' not specified\n/],
  ["auth create rule --access=allow x", 2, /Allowed choices are granted, denied/],
  ["auth create key --lifetime=90 ci", 2, /It must be like 30d/],
  ["usage --span=week", 2, /It must be like 30d/],
  ["usage -o name", 2, /Allowed choices are json, yaml/],
  ["services -o xml", 2, /Allowed choices are json, yaml, name/],
  ["completion tcsh", 2, /Allowed choices are bash, zsh, fish/],
  ["services --profile ../../etc", 2, /^The profile "\.\.\/\.\.\/etc" must be 1 to 64 letters/],
  ["services --url localhost:8080", 2, /^The address "localhost:8080" must be like http:/],
  ["services --url http://admin:secret@localhost", 2, /^The address .* must be like http:/],
  ["shop orders get now", 2, /^What is "now"\? Fields are given as --name=value/],

  // The file of a request.
  ["call helloworld Call @missing.json", 2, /^The request cannot be read: missing\.json: no such file or folder\n$/],
  ["call helloworld Call @test", 2, /^The request cannot be read: test: is a folder, not a file/],
  ["call helloworld Call @", 2, /^@ needs the name of a file: @request\.json\n$/],

  // Without a terminal: the error says how to pass the password.
  ["login", 2, /^There is no terminal .* PORTICO_PASSWORD or by --password-stdin\n$/],
  ["login --password-stdin", 2, /^Standard input holds no password\n$/],

  // Not logged in: exit code 4.
  ["user", 4, /^Not logged in to http:\/\/127\.0\.0\.1:1\. Log in first: portico login\n$/],
  ["user token --url http://[::1]:1", 4, /Log in first: portico login --url 'http:\/\/\[::1\]:1'\n$/],
  [
    "services --url http://[::1]:1 --profile bob",
    4,
    /^There is no profile bob; there is none yet\. .*: portico login --url 'http:\/\/\[::1\]:1' --profile bob\n$/,
  ],
  ["login --profile bob", 2, /^There is no terminal/],
  ["auth list rules", 4, /^Not logged in/],
  ["usage", 4, /^Not logged in/],
  ["auth create account bob", 4, /^Not logged in/],

  // No response: exit code 1.
  ["services", 1, /^Portico does not respond at http:\/\/127\.0\.0\.1:1\. Start it with: portico server\n$/],
  ["call helloworld Call {}", 1, /^Portico does not respond/],
  ["helloworld call --name=Ada", 1, /^Portico does not respond/],
  ["services --url http://portico.invalid", 1, /^There is no host portico\.invalid/],
  ["logout", 0, /^Not logged in to http:\/\/127\.0\.0\.1:1\n$/],
];

for (const [args, exit, said] of rows) {
  t.test(`portico ${args}`, async (t) => {
    const outcome = await portico(args.split(" ").filter((word) => word !== ""));
    t.equal(outcome.exit, exit);
    t.match(outcome.stdout + outcome.stderr, said);
    t.equal(outcome.exit === 0 ? "" : outcome.stdout, "", "data on stdout, talk on stderr");
  });
}
