/** What a ranker has read of tools, for whoever would spare the next start the reading. */
export interface Keeping {
  /** How many of its tools it had to read, since they were not among what was loaded. */
  readonly fresh: number;
  /** All it has read, for {@link Keeping.load} of another one. */
  save(): Uint8Array;
  /**
   * Takes in what was saved, before the tools come. Only what was read of the very same tools is used. False if
   * it is of another kind or version. Bytes that are not as they were saved must not be handed over.
   */
  load(bytes: Uint8Array): boolean;
}
