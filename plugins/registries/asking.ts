import { GatewayError, type JsonObject } from "../../core/mod.ts";
import { shownCommand } from "../lib/redact.ts";
import { variableOf } from "../lib/server-entry/server-inputs.ts";
import type { Answers, NeedKind, ServerNeed } from "../lib/server-entry/server-json.ts";
import { plain } from "./entry.ts";

/** Values that the user gives for the settings of a server, by name. */
export interface Given {
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Values of arguments, and of variables in a URL or a template. */
  readonly arguments: Readonly<Record<string, string>>;
}

const REFERENCE = /^(?:(?:Bearer|Basic|Token) )?\$\{[A-Za-z_]\w*\}$/;

/** Answers what a server asks for, and records it. */
export interface Asking {
  readonly answers: Answers;
  needs(): readonly ServerNeed[];
  withheld(): readonly string[];
  /** Adds the given values that the server did not ask for. */
  addRest(definition: JsonObject): void;
}

/** Creates an asking that answers with the given values. */
export function createAsking(id: string, given: Given): Asking {
  const needs = new Map<string, ServerNeed>();
  const withheld = new Set<string>();
  const used = new Set<string>();
  const prefix = variableOf(id);
  const answers: Answers = {
    // A publisher chooses these names. With the prefix, none can be the name of another program's secret.
    variable: (kind, name) => (kind === "env" ? name : `${prefix}_${variableOf(name)}`),
    given(need) {
      needs.set(`${need.kind} ${need.name}`, need);
      const found = lookUp(given, need);
      if (!found) return undefined;
      const { group, name, value } = found;
      used.add(`${group} ${name}`);
      if (need.choices && need.choices.length > 0 && !need.choices.includes(value)) {
        const choices = need.choices.map((choice) => plain(choice)).join(", ");
        throw new GatewayError("CONFIG_INVALID", `${plain(need.name)} must be one of ${choices}.`);
      }
      return safe(need, value);
    },
  };

  return {
    answers,
    needs: () => [...needs.values()],
    withheld: () => [...withheld],
    addRest(definition) {
      const isLocal = definition["command"] !== undefined;
      const rest = (group: "env" | "headers" | "arguments"): [string, string][] =>
        Object.entries(given[group]).filter(([name]) => !used.has(`${group} ${name}`));
      const stray = [...rest("arguments"), ...rest(isLocal ? "headers" : "env")][0];
      if (stray) {
        const asked = [...needs.values()].map(({ name }) => plain(name)).join(", ") || "nothing";
        throw new GatewayError(
          "CONFIG_INVALID",
          `The server does not ask for "${stray[0]}", but for ${asked}.`,
        );
      }
      const group = isLocal ? "env" : "headers";
      for (const [name, value] of rest(group)) {
        const kind = isLocal ? "env" : "header";
        const need = {
          kind,
          name,
          variable: answers.variable(kind, name),
          isRequired: false,
          isSecret: false,
        } as const;
        needs.set(`${kind} ${name}`, need);
        definition[group] = { ...(definition[group] as JsonObject), [name]: safe(need, value) };
      }
    },
  };

  /** A secret is never written: a file is copied, shared and backed up. */
  function safe(need: ServerNeed, value: string): string {
    if (REFERENCE.test(value) || !(need.isSecret || looksSecret(need.name, value))) return value;
    withheld.add(need.name);
    return `\${${need.variable}}`;
  }
}

/** Whether a value would be redacted when it is shown; then it is not written either. */
function looksSecret(name: string, value: string): boolean {
  const unquoted = (text: string): string => text.replace(/['\\]/g, "");
  const isShown = (arg: string): boolean => unquoted(shownCommand("x", [arg])) === unquoted(`x ${arg}`);
  return !isShown(`${name}=${value}`) || !isShown(value);
}

interface FoundValue {
  readonly group: keyof Given;
  readonly name: string;
  readonly value: string;
}

/** Finds the value of a need. Headers and arguments match in any case, arguments without their dashes. */
function lookUp(given: Given, { kind, name }: ServerNeed): FoundValue | undefined {
  const groups: Readonly<Record<NeedKind, readonly (keyof Given)[]>> = {
    env: ["env"],
    header: ["headers", "arguments"],
    argument: ["arguments"],
    url: ["arguments"],
  };
  const fold = (text: string): string => (kind === "env" ? text : text.toLowerCase().replace(/^-+/, ""));
  for (const group of groups[kind])
    for (const [own, value] of Object.entries(given[group]))
      if (fold(own) === fold(name)) return { group, name: own, value };
  return undefined;
}
