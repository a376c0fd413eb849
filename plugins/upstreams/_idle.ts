/** What is watched for not being used. */
export interface IdleParts {
  readonly idleMs: number;
  /** Whether there is anything that could be idle. */
  readonly isOpen: () => boolean;
  readonly isUsed: () => boolean;
  readonly onIdle: () => void;
}

/** Notices when something was not used for so long. */
export interface Idle {
  /** Nobody uses it from now on. */
  rest(): void;
  /** There is nothing to be noticed any more. */
  stop(): void;
}

/** Makes what notices it. A timer for each pause would cost every call two: the one that runs looks when the last began. */
export function createIdle({ idleMs, isOpen, isUsed, onIdle }: IdleParts): Idle {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let since = 0;

  return {
    rest() {
      since = performance.now();
      if (!timer) arm(idleMs);
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };

  function arm(ms: number): void {
    if (!isOpen()) return;
    timer = setTimeout(look, ms);
    timer.unref?.();
  }

  function look(): void {
    timer = undefined;
    if (isUsed()) return;
    const left = Math.ceil(since + idleMs - performance.now());
    if (left > 0) arm(left);
    else onIdle();
  }
}
