// Written by `playground/train/fit-relevance.ts`: not for editing by hand.

/** What the terms of a relevance weigh. */
export const relevanceWeights: readonly number[] = [-3.362, 4.149, 1.577, 0.565];

/** Where even the best tool is less relevant than this, nothing fits. */
export const defaultGate: number = 0.092;
