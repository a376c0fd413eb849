import { expect, test, vi } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { state } from "../../../plugins/state/mod.ts";
import { catchFailure } from "../../support/failure.ts";

vi.mock("ioredis", () => {
  throw new Error("Cannot find package 'ioredis'");
});

test("where the package for Redis is not installed, the start fails and names the package to install", async () => {
  const error = await catchFailure(createGateway({ plugins: [state({ state: "redis://127.0.0.1:6379" })] }));
  expect(error).toMatchObject({
    code: "CONFIG_INVALID",
    message: "The state cannot be kept in Redis without the package ioredis. Install it: npm install ioredis",
  });
});
