import { onTestFinished } from "vitest";
import { createGateway, type Gateway, type GatewayOptions } from "../../core/mod.ts";

/** Opens a gateway, and closes it when the test ends. */
export async function openGateway(
  config: GatewayOptions = {},
  closing?: Parameters<Gateway["close"]>[0],
): Promise<Gateway> {
  const gateway = await createGateway(config);
  onTestFinished(() => gateway.close(closing));
  return gateway;
}
