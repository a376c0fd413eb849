export { forgetHistory, forgetTool } from "./history/forget.ts";
export { type HistoryOptions, historyDefaults, historyOptions } from "./history/options.ts";
export { type HistoryStore, historyStore } from "./history/store.ts";
export { type Watch, watchGateway } from "./history/watch.ts";
export { type Memory, withHistory } from "./history/with-history.ts";
