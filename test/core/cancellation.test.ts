import { describe, expect, test, vi } from "vitest";
import { Cancellation, GatewayError, getAbortReason } from "../../core/mod.ts";

const first = new GatewayError("TIMEOUT", "Too slow.");
const second = new GatewayError("CANCELLED", "Given up.");

describe("a cancellation", () => {
  test("each listener is called once, and the first reason counts", () => {
    const cancellation = new Cancellation();
    const heard = vi.fn(() => cancellation.cancelled);
    cancellation.onCancel(heard);
    cancellation.cancel(first);
    cancellation.cancel(second);
    expect(heard.mock.results).toEqual([{ type: "return", value: first }]);
  });

  test("calls remaining listeners, but no removed one", () => {
    const cancellation = new Cancellation();
    const [heard, gone] = [vi.fn(), vi.fn()];
    cancellation.onCancel(gone);
    cancellation.onCancel(heard);
    cancellation.offCancel(gone);
    cancellation.offCancel(() => {});
    cancellation.cancel();
    expect(heard).toHaveBeenCalledOnce();
    expect(gone).not.toHaveBeenCalled();
  });

  test("its signal says the same, whether it was looked at before or after", () => {
    const cancellation = new Cancellation();
    const { signal } = cancellation;
    expect(signal.aborted).toBe(false);
    cancellation.cancel(first);
    expect(signal.reason).toBe(first);
    const late = new Cancellation();
    late.cancel(second);
    expect(late.signal.reason).toBe(second);
  });

  test("without a reason it is its owner who gave up", () => {
    const cancellation = new Cancellation();
    cancellation.cancel();
    expect(cancellation.cancelled?.code).toBe("CANCELLED");
  });
});

describe("getAbortReason", () => {
  test("it keeps a GatewayError, and keeps any other reason out of sight", () => {
    expect(getAbortReason(AbortSignal.abort(first))).toBe(first);
    const error = getAbortReason(AbortSignal.abort(new Error("secret")));
    expect(error).toMatchObject({ code: "CANCELLED", cause: { message: "secret" } });
    expect(JSON.stringify(error)).not.toContain("secret");
  });
});
