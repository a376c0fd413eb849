import { defineError, GatewayError } from "../../core/errors.ts";

const USAGE = defineError("USAGE", { spec: "CONFIGURATION_ERROR", exit: 1 });

/** An error of whoever typed the command. */
export function usageError(message: string): GatewayError {
  return new GatewayError(USAGE, `${message} See --help.`);
}
