import { afterEach, expect, test, vi } from "vitest";
import { showWaiting } from "../../../plugins/lib/servers.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Records the output to standard error, which is a terminal or not. */
function watch(isTTY: boolean): string[] {
  const before = Object.getOwnPropertyDescriptor(process.stderr, "isTTY");
  Object.defineProperty(process.stderr, "isTTY", { value: isTTY, configurable: true });
  const written: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => written.push(String(chunk)) > 0);
  vi.useFakeTimers();
  // Not before the test has ended, and then as it was.
  if (before) cleanup.push(() => Object.defineProperty(process.stderr, "isTTY", before));
  else cleanup.push(() => Reflect.deleteProperty(process.stderr, "isTTY"));
  return written;
}

const cleanup: (() => unknown)[] = [];
afterEach(() => {
  for (const undo of cleanup.splice(0)) undo();
});

test("a pipe never sees what is waited for", () => {
  const written = watch(false);
  const done = showWaiting("Waiting …");
  vi.advanceTimersByTime(60_000);
  done();
  expect(written).toEqual([]);
});

test("a terminal sees it after a moment, and no more once it is over", () => {
  const written = watch(true);
  const done = showWaiting("Waiting …");
  vi.advanceTimersByTime(299);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(written).toEqual(["\r\u001b[2KWaiting …"]);
  done();
  expect(written.at(-1)).toBe("\r\u001b[2K");
});

test("a terminal sees nothing of what is over soon", () => {
  const written = watch(true);
  showWaiting("Waiting …")();
  vi.advanceTimersByTime(60_000);
  expect(written.join("")).not.toContain("Waiting");
});
