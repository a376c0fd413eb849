// The tools of the contract of upstreams, as functions for upstream.ts.
export const tools = {
  echo: {
    description: "Says what it is told",
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    run: ({ text }) => text,
  },
  fail: {
    run() {
      throw new Error("It did not work.");
    },
  },
  steps: {
    run(_, { report }) {
      for (const progress of [1, 2, 3]) report({ progress, total: 3, message: `step ${progress}` });
      return "done";
    },
  },
  wait: { run: () => new Promise(() => {}) },
  change: {
    run(_, { changed }) {
      changed();
      return "done";
    },
  },
};
