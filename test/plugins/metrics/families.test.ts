import fc from "fast-check";
import { expect, test } from "vitest";
import { createFamilies } from "../../../plugins/metrics/families.ts";

test("counters and histograms are written as Prometheus reads them", () => {
  const families = createFamilies(100);
  const calls = families.counter({ name: "calls_total", help: "Calls.\nAll of them.", labels: ["server"] });
  const took = families.histogram({ name: "took", help: "Took.", labels: [], buckets: [1, 2.5] });
  families.gauge({ name: "tools", help: "Tools.", type: "gauge", read: () => [{ value: 7 }] });
  calls.add(["a"]);
  calls.add(["a"], 2);
  calls.add(['b"\\\n']);
  for (const value of [0.5, 1, 2, 9]) took.observe([], value);
  expect(families.text()).toBe(
    [
      "# HELP calls_total Calls.\\nAll of them.",
      "# TYPE calls_total counter",
      'calls_total{server="a"} 3',
      'calls_total{server="b\\"\\\\\\n"} 1',
      "# HELP took Took.",
      "# TYPE took histogram",
      'took_bucket{le="1"} 2',
      'took_bucket{le="2.5"} 3',
      'took_bucket{le="+Inf"} 4',
      "took_sum 12.5",
      "took_count 4",
      "# HELP tools Tools.",
      "# TYPE tools gauge",
      "tools 7",
      "",
    ].join("\n"),
  );
});

test("never exceeds the limit of metric series, and loses no count", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 200 }), (seen) => {
      const families = createFamilies(10);
      const counter = families.counter({ name: "n", help: "N", labels: ["a", "b"] });
      for (const labels of seen) counter.add(labels);
      const lines = families.text().split("\n").slice(2, -1);
      expect(lines.length).toBeLessThanOrEqual(10);
      expect(lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0)).toBe(seen.length);
      for (const line of lines) expect(line).toMatch(/^n\{a="([^"\\\n]|\\.)*",b="([^"\\\n]|\\.)*"\} \d+$/u);
    }),
  );
});
