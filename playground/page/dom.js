/**
 * @typedef {string | number | Node | false | null | undefined} Child
 * @typedef {Record<string, unknown>} Attributes
 */

/**
 * Makes an element. What is given as a child is text or an element, never markup: descriptions of tools are
 * written by strangers.
 *
 * @param {string} tag
 * @param {Attributes} [attributes] `on…` listens, `style` sets custom properties, and what is false is left out.
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function")
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "style") setProperties(element, /** @type {Record<string, string>} */ (value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== undefined && child !== null && child !== false)
      element.append(typeof child === "number" ? String(child) : child);
  }
  return element;
}

/**
 * @param {HTMLElement} element
 * @param {Record<string, string>} properties
 */
function setProperties(element, properties) {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
}

/**
 * An element of the page that is always there.
 *
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  return /** @type {T} */ (document.getElementById(id));
}

/**
 * Fills a select, and keeps to what is chosen where it is still there.
 *
 * @param {HTMLSelectElement} select
 * @param {readonly { readonly value: string, readonly label: string }[]} options
 * @param {string} chosen
 */
export function fillSelect(select, options, chosen) {
  select.replaceChildren(...options.map(({ value, label }) => h("option", { value }, label)));
  select.value = chosen;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let hiding;

/**
 * Shows a message for a moment; an error stays longer.
 *
 * @param {string} text
 * @param {"note" | "error"} [kind]
 */
export function toast(text, kind = "note") {
  const element = byId("toast");
  element.textContent = text;
  element.dataset["kind"] = kind;
  element.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(
    () => {
      element.hidden = true;
    },
    kind === "error" ? 8000 : 2500,
  );
}

/**
 * Copies a string and confirms it.
 *
 * @param {string} text
 * @param {string} said
 */
export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    toast(said);
  } catch {
    toast("The browser did not let this be copied. Select the text, and copy it yourself.", "error");
  }
}
