/**
 * Makes elements. Texts and addresses come from hostile pages: they become text nodes and checked
 * attributes, and never markup.
 */

const SVG = "http://www.w3.org/2000/svg";
const ATTRIBUTES = new Set([
  "accept", "autocomplete", "checked", "class", "cols", "colspan", "cx", "cy", "d", "disabled", "download", "fill",
  "for", "height", "hidden", "href", "id", "list", "max", "maxlength", "method", "min", "name", "open",
  "placeholder", "points", "r", "readonly", "referrerpolicy", "required", "role", "rows", "rowspan", "rx",
  "sandbox", "scope", "selected", "spellcheck", "src", "step", "tabindex", "text-anchor", "title", "type",
  "value", "viewBox", "width", "x", "x1", "x2", "y", "y1", "y2",
]);
/** Own routes and own files. A URL of a crawled page is shown as text, and is never a link. */
const OWN_ADDRESS = /^(#|v1\/|\.\/|blob:)/;
// C0, DEL, C1, line and paragraph separators, and marks of bidirectional text: see gossamer/terminal.py.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Return *text* with control characters as `\u009b`, except tabs and line ends. */
export function printable(text) {
  return String(text).replace(CONTROLS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Return the element *tag* with *props* and *children*.
 *
 * A prop is an attribute; `on` is a map of listeners, and `style` a map of style properties. null,
 * undefined and false omit an attribute or a child.
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** As `h`, for elements of SVG. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) setProp(element, name, value);
  append(element, children);
  return element;
}

function setProp(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
  } else if (name === "style") {
    // An attribute `style` would be refused by the Content-Security-Policy.
    for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
  } else if (!ATTRIBUTES.has(name) && !name.startsWith("aria-") && !name.startsWith("data-")) {
    throw new TypeError(`attribute ${name} is not allowed`);
  } else if ((name === "href" || name === "src") && !OWN_ADDRESS.test(value)) {
    throw new TypeError(`${name} is not an address of the console`);
  } else {
    element.setAttribute(name, value === true ? "" : printable(value));
  }
}

/** Append *children*, which may be nested arrays, to *element*. */
export function append(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : printable(child));
  }
}

/** Replace the content of *element* by *children*. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Return the address of a page of the console; empty parameters are omitted. */
export function link(page, params = {}) {
  const query = new URLSearchParams(
    Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined),
  ).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

/** Return text of the Web: isolated from the direction of the surrounding text, breaking anywhere. */
export function remote(text, tag = "span") {
  return h(tag, { class: "remote" }, text);
}

/** Return a link to the explanation of *url*. */
export function urlLink(url, text = url) {
  return h("a", { href: link("url", { url }), class: "remote", title: url }, text);
}

/** Return a link to the page of the host *key*. */
export function hostLink(key) {
  return h("a", { href: link("host", { host: key }), class: "remote", title: key }, key);
}

/** Return a link to the page of *site*. */
export function siteLink(site) {
  return h("a", { href: link("site", { site }), class: "remote", title: site }, site);
}

/** Return a button. */
export function button(text, click, props = {}) {
  return h("button", { type: "button", ...props, on: { click } }, text);
}

let ids = 0;

/** Return an id that no other element has. */
export function freshId(prefix) {
  ids += 1;
  return `${prefix}-${ids}`;
}

/** Return a labelled control. */
export function field(label, control, hint = "") {
  control.id ||= freshId("field");
  const help = hint && h("span", { class: "hint", id: `${control.id}-hint` }, hint);
  if (help) control.setAttribute("aria-describedby", help.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, help);
}

/** Return a `<select>` with *options*: pairs of value and text. */
export function select(options, value, change, props = {}) {
  return h(
    "select",
    { ...props, on: { change: (event) => change(event.target.value) } },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
}
