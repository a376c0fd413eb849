import fc from "fast-check";

// A fixed seed makes every run check equal cases, so that a red suite is always about the change at hand.
// `SEED=random npm test` looks for new ones, and `SEED=<number>` repeats a find.
const { SEED: seed = "20261116" } = process.env;
if (seed !== "random") fc.configureGlobal({ seed: Number(seed) });
