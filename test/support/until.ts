/** Waits until something holds; the test fails where it does not in time. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 5_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`It did not come to hold within ${withinMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
