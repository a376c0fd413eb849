/**
 * Lists what agents should know about the gateway beside its servers, as sentences: that a config waits for approval, and
 * which one serves meanwhile.
 */
export type Notices = () => readonly string[];
