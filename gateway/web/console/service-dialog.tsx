/**
 * The dialog that adds a service by its address, or changes one. It first shows what was found at
 * the address, and then asks whether to add the service.
 */
import { useState } from "preact/hooks";
import type { Endpoints, ServiceListing } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { CheckField, LinesField, SelectField, TextField } from "../ui/field.js";
import { type DialogProps, FormDialog } from "./dialogs.js";
import { linesOf } from "./lines.js";
import { CHOICES, type Options, SWITCHES, TEXTS } from "./service-options.js";

type Service = ServiceListing["service"];
type Found = Endpoints["registry/Services/Put"]["response"];

/** Maximum endpoints that are listed before the service is added. */
const MAX_SHOWN = 20;
const TARGET = /^(\S+)(?:\s+(\d+))?$/;

export function ServiceDialog({ before, ...props }: { readonly before: Service | undefined } & DialogProps) {
  const [name, setName] = useState(before?.name ?? "");
  const [targets, setTargets] = useState(before === undefined ? "" : textOf(before.targets));
  const [options, setOptions] = useState<Options>(before?.options ?? {});
  /** What was looked up last, and what was found. The fields may have been changed meanwhile. */
  const [lookup, setLookup] = useState<{ readonly asked: string; readonly found: Found }>();
  const asked = JSON.stringify([name, targets, options]);
  const put = async (dryRun: boolean): Promise<Found> => {
    // The fields of a message in a request may be left out too, which its type does not say.
    const service = { name, targets: targetsOf(targets), options: options as NonNullable<Service["options"]> };
    const create = before === undefined;
    return call("registry/Services/Put", { service, dryRun, create, keepDescriptors: !create });
  };
  const isSure = lookup?.asked === asked;
  const verb = before === undefined ? "Add service" : "Change service";
  return (
    <FormDialog
      {...props}
      title={before === undefined ? "Add a service" : `Change ${before.name}`}
      action={isSure ? verb : "Look it up"}
      act={() => put(!isSure)}
      onDone={(result: Found) => (isSure ? props.onDone(result) : setLookup({ asked, found: result }))}
    >
      {before === undefined && (
        <TextField
          label="Name"
          hint="Lower-case letters, digits and -, such as shop. Its endpoints are at /v1/shop/…"
          required
          maxLength={63}
          value={name}
          onInput={setName}
        />
      )}
      <LinesField
        label="Addresses"
        hint="One on each line, such as 127.0.0.1:9000 or grpcs://shop.example:443. A number after it is its weight."
        required
        value={targets}
        onInput={setTargets}
      />
      <OptionFields options={options} onChange={setOptions} />
      {isSure && <FoundNotice found={lookup.found} />}
    </FormDialog>
  );
}

interface OptionFieldsProps {
  readonly options: Options;
  readonly onChange: (options: Options) => void;
}

function OptionFields({ options, onChange }: OptionFieldsProps) {
  return (
    <details>
      <summary>Options</summary>
      <div class="stack">
        {CHOICES.map(({ key, label, options: choices }) => (
          <SelectField
            key={key}
            label={label}
            options={choices}
            value={String(options[key] ?? choices[0]?.[0])}
            onInput={(value) => onChange({ ...options, [key]: value })}
          />
        ))}
        {SWITCHES.map(([key, label]) => (
          <CheckField
            key={key}
            label={label}
            checked={options[key] === true}
            onInput={(checked) => onChange({ ...options, [key]: checked })}
          />
        ))}
        {TEXTS.map(({ label, hint, get, set }) => (
          <TextField
            key={label}
            label={label}
            hint={hint}
            value={get(options)}
            onInput={(value) => onChange({ ...options, ...set(value.trim()) })}
          />
        ))}
        <p class="hint">
          All other options: <code>portico services set</code>.
        </p>
      </div>
    </details>
  );
}

/** What was found at the addresses. */
function FoundNotice({ found: { endpoints, problems, error } }: { readonly found: Found }) {
  const more = endpoints.length - MAX_SHOWN;
  return (
    <div class={`notice ${error === "" ? "" : "warning"}`} role="status">
      <p>
        {error === ""
          ? `Found ${endpoints.length} ${endpoints.length === 1 ? "endpoint" : "endpoints"}`
          : `The contract cannot be read now: ${error}`}
      </p>
      <ul class="plain-list">
        {endpoints.slice(0, MAX_SHOWN).map(({ path, rest }) => (
          <li key={path}>
            <code>{[path, ...rest].join(" · ")}</code>
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
      {problems.map((problem) => (
        <p key={problem}>{problem}</p>
      ))}
    </div>
  );
}

function textOf(targets: Service["targets"]): string {
  return targets.map(({ address, weight }) => (weight > 1 ? `${address} ${weight}` : address)).join("\n");
}

/** An address that is malformed is sent as it is: the registry says what is wrong. */
function targetsOf(text: string): { address: string; weight: number }[] {
  return linesOf(text).map((line) => {
    const [, address = line, weight = "1"] = TARGET.exec(line) ?? [];
    return { address, weight: Number(weight) };
  });
}
