import * as v from "valibot";
import {
  type DriverKind,
  type Drivers,
  type Gateway,
  GatewayError,
  type JsonObject,
} from "../../core/mod.ts";

const name = v.pipe(v.string(), v.minLength(1, "a string that is not empty"));

const driverObject = v.looseObject({
  type: v.pipe(name, v.description("Name of a driver, or the path of a module that exports one.")),
});

/** Driver by name or by the path of a module that exports it, with its own options. */
export type DriverOptions = v.InferOutput<typeof driverObject>;

/** Schema of an option that names a driver: its name or path, or an object with one of them as its `type`. */
export const driverChoice = v.union(
  [name, driverObject],
  "the name of a driver, the path of a module, or an object with one of them as its type",
);

/** Returns the name or path of a chosen driver; undefined for an object that is none. */
export function getDriverName(choice: string | object | undefined): string | undefined {
  if (typeof choice !== "object") return choice;
  return "type" in choice && typeof choice.type === "string" ? choice.type : undefined;
}

/** Returns the options of a chosen driver: those beside its `type`. */
export function getDriverOptions(choice: string | object | undefined): JsonObject {
  if (typeof choice !== "object") return {};
  const { type: _, ...options } = choice as JsonObject;
  return options;
}

/** Kinds whose drivers are functions of options. */
type Creating = {
  [K in DriverKind]: Drivers[K] extends (options: Readonly<JsonObject>) => unknown ? K : never;
}[DriverKind];

/** Creates what an option names: finds its driver and calls it with the options beside the type. */
export async function createDriver<K extends Creating>(
  gateway: Pick<Gateway, "driver">,
  kind: K,
  choice: string | DriverOptions,
): Promise<Awaited<ReturnType<Extract<Drivers[K], (options: Readonly<JsonObject>) => unknown>>>> {
  const name = getDriverName(choice) ?? "";
  const driver = (await gateway.driver(kind, name)) as (options: Readonly<JsonObject>) => never;
  checkDriver(kind, name, driver);
  return driver(getDriverOptions(choice));
}

/** Throws if a driver is not a function: a module may export any value. */
export function checkDriver(kind: DriverKind, name: string, driver: unknown): void {
  if (typeof driver === "function") return;
  throw new GatewayError(
    "CONFIG_INVALID",
    `${kind}: expected "${name}" to export a function that creates one from its options, found ${describeType(driver)}`,
  );
}

/** Throws if a driver, or what it has created, is not an object with these fields and their types. */
export function checkDriverFields(
  kind: DriverKind,
  name: string,
  value: unknown,
  fields: Readonly<Record<string, "function" | "string">>,
): void {
  const given = (typeof value === "object" && value !== null ? value : {}) as JsonObject;
  const wrong = Object.entries(fields).find(([field, type]) => typeof given[field] !== type);
  if (!wrong) return;
  const [field, type] = wrong;
  const found = given === value ? describeType(given[field]) : describeType(value);
  throw new GatewayError(
    "CONFIG_INVALID",
    `${kind}: expected the ${kind} of "${name}" to be an object with the ${type} "${field}", found ${found}`,
  );
}

function describeType(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a value of the type ${typeof value}`;
}
