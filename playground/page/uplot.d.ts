// The server hands out the library under this name; these are its own types.
import uPlot from "uplot";

// biome-ignore lint/style/noDefaultExport: the library is one.
export { uPlot as default };
