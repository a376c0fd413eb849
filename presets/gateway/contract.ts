import { isJsonObject, type Tool } from "../../core/mod.ts";
import { SCHEMA_VERSION } from "./registry.ts";

const RISKS: readonly unknown[] = ["low", "medium", "high", "destructive"];
const MAX_NAMED = 3;

/** What every operation of a registry must have, and what it must be. */
const fields: Readonly<Record<string, (value: unknown) => boolean>> = {
  adapter: isText,
  tool: isText,
  description: (value) => typeof value === "string",
  tags: Array.isArray,
  method: isText,
  path: isText,
  input_schema: isJsonObject,
  required_params: Array.isArray,
  optional_params: Array.isArray,
};
const risks: Readonly<Record<string, (value: unknown) => boolean>> = {
  risk_level: (value) => RISKS.includes(value),
  idempotent: isFlag,
  reversible: isFlag,
  requires_confirmation: isFlag,
};

/**
 * Compares a registry with the operations that there are, and returns what is wrong with it, a sentence each: ids that
 * are not live, fields that are missing, operations of which nobody says how much harm they do, and a count that is
 * another one.
 */
export function contractFaults(
  registry: unknown,
  live: ReadonlyMap<string, Tool>,
  { riskExpected = false }: { readonly riskExpected?: boolean } = {},
): string[] {
  if (!isJsonObject(registry) || !isJsonObject(registry["operations"])) {
    return ["The registry holds no operations."];
  }
  const { schema_version, operation_count, last_verified_at } = registry;
  const operations = Object.entries(registry["operations"]);
  const faults: string[] = [];
  if (schema_version !== SCHEMA_VERSION) {
    faults.push(`The registry is of another version than ${SCHEMA_VERSION}.`);
  }
  if (typeof last_verified_at !== "string" || Number.isNaN(Date.parse(last_verified_at))) {
    faults.push("The registry does not say when it was verified.");
  }
  const gone = operations.flatMap(([id]) => (live.has(id) ? [] : [id]));
  if (gone.length > 0) faults.push(`The registry has operations that do not exist: ${named(gone)}.`);
  const ids = new Set(operations.map(([id]) => id));
  const missing = [...live.keys()].filter((id) => !ids.has(id));
  if (missing.length > 0) faults.push(`The registry lacks operations: ${named(missing)}.`);
  if (operation_count !== live.size || operations.length !== live.size) {
    faults.push(
      `The registry counts ${String(operation_count)} operations and has ${operations.length}, but there are ${live.size}.`,
    );
  }
  for (const [what, checks] of [
    ["fields", fields],
    ["risk metadata", risks],
  ] as const) {
    const lacking = operations.flatMap(([id, entry]) => (isWhole(entry, checks) ? [] : [id]));
    if (lacking.length > 0) faults.push(`The registry lacks ${what} of: ${named(lacking)}.`);
  }
  const unjudged = riskExpected ? [...live].flatMap(([id, { policy }]) => (policy ? [] : [id])) : [];
  if (unjudged.length > 0) faults.push(`Nobody says how much harm these can do: ${named(unjudged)}.`);
  return faults;
}

function isWhole(entry: unknown, checks: Readonly<Record<string, (value: unknown) => boolean>>): boolean {
  return isJsonObject(entry) && Object.entries(checks).every(([field, fits]) => fits(entry[field]));
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isFlag(value: unknown): boolean {
  return typeof value === "boolean";
}

function named(ids: readonly string[]): string {
  const more = ids.length - MAX_NAMED;
  return `${ids.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
