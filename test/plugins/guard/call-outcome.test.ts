import { expect, test } from "vitest";
import { defineError, GatewayError } from "../../../core/mod.ts";
import { getOutcome } from "../../../core/services/policy.ts";

const failure = (code: string, data: Record<string, unknown> = {}, cause?: unknown): GatewayError =>
  new GatewayError(defineError(code), "It failed.", { data, ...(cause !== undefined && { cause }) });

test.each([
  "SPAWN_FAILED",
  "CONNECT_FAILED",
  "CONNECT_TIMEOUT",
  "TLS_ERROR",
  "RATE_LIMITED",
  "BREAKER_OPEN",
  "AUDIT_UNAVAILABLE",
  "UNANSWERED",
  "INVALID_ARGUMENTS",
  "SSRF_BLOCKED",
])("%s comes before anything is sent", (code) => expect(getOutcome(failure(code))).toBe("not sent"));

test.each([
  "UPSTREAM_CLOSED",
  "UPSTREAM_STALLED",
  "UPSTREAM_PROTOCOL",
  "RESPONSE_TOO_LARGE",
  "TIMEOUT",
  "CANCELLED",
  "CLOSED",
  "INTERNAL",
  "SOMETHING_NEW",
])("after %s the outcome is unknown", (code) => expect(getOutcome(failure(code))).toBe("unknown"));

test("an error may state whether the request was sent, and is trusted", () => {
  expect(getOutcome(failure("UPSTREAM_CLOSED", { sent: false }))).toBe("not sent");
  expect(getOutcome(failure("TIMEOUT", { sent: false }))).toBe("not sent");
  expect(getOutcome(failure("CONNECT_FAILED", { sent: true }))).toBe("unknown");
});

test("an error of the protocol is an answer; a status may come from a proxy", () => {
  expect(getOutcome(failure("UPSTREAM_ERROR", { rpcCode: -32000 }))).toBe("answered");
  expect(getOutcome(failure("UPSTREAM_ERROR", { status: 502 }))).toBe("unknown");
  expect(getOutcome(failure("UPSTREAM_ERROR", { status: 429 }))).toBe("not sent");
  expect(getOutcome(failure("UPSTREAM_ERROR"))).toBe("unknown");
});

test("a connection that failed after it stood may have carried the request", () => {
  expect(getOutcome(failure("CONNECT_FAILED", {}, new Error("connect ETIMEDOUT 10.0.0.1:443")))).toBe(
    "not sent",
  );
  expect(getOutcome(failure("CONNECT_FAILED", {}, new Error("fetch failed read ETIMEDOUT")))).toBe("unknown");
});

test("after an error of another class the outcome is unknown", () => {
  for (const thrown of [new Error("x"), "x", undefined, null, { code: "CONNECT_FAILED" }]) {
    expect(getOutcome(thrown)).toBe("unknown");
  }
});
