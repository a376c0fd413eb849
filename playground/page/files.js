import { ask } from "./api.js";
import { byId, toast } from "./dom.js";
import { counted } from "./format.js";

/**
 * @typedef {import("../protocol.ts").CatalogInfo} CatalogInfo
 * @typedef {import("../protocol.ts").SetInfo} SetInfo
 */

/**
 * Takes files from the chooser, and those that are dropped on the page.
 *
 * @param {{ addCatalog: (info: CatalogInfo) => void, addSet: (info: SetInfo) => void }} shelf
 */
export function fileOpener(shelf) {
  const chooser = /** @type {HTMLInputElement} */ (byId("chooser"));
  const curtain = byId("drop");

  /** @param {Iterable<File>} files */
  async function take(files) {
    for (const file of files) {
      try {
        await takeOne(file);
      } catch (thrown) {
        toast(/** @type {Error} */ (thrown).message, "error");
      }
    }
  }

  /** @param {File} file */
  async function takeOne(file) {
    const upload = { name: file.name, text: await file.text() };
    if (areQueries(upload.text)) {
      const info = await ask("/api/sets", upload);
      shelf.addSet(info);
      toast(`${file.name}: ${counted(info.queries, "labelled query")}`);
    } else {
      const info = await ask("/api/catalogs", upload);
      shelf.addCatalog(info);
      toast(`${file.name}: ${counted(info.tools, "tool")}`);
    }
  }

  chooser.addEventListener("change", async () => {
    await take(chooser.files ?? []);
    chooser.value = "";
  });
  addEventListener("dragover", (event) => {
    event.preventDefault();
    curtain.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) curtain.hidden = true;
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    curtain.hidden = true;
    void take(event.dataTransfer?.files ?? []);
  });
  return { choose: () => chooser.click() };
}

/**
 * Whether a file holds queries rather than tools, by its first line.
 *
 * @param {string} text
 */
function areQueries(text) {
  try {
    return typeof JSON.parse(text.trimStart().split("\n", 1)[0] ?? "").query === "string";
  } catch {
    return false;
  }
}
