/** How a gateway exposes its operations. Provided by presets that have several ways. */
export interface Mode {
  /** Such as `lazy`, `full` or `degraded`. */
  readonly name: string;
  /** Describes the mode, with the number of operations that there are now. */
  describe(): string;
}
