// SPDX-License-Identifier: Apache-2.0
// Elements without markup in strings: whatever came from the wire becomes a text node or an attribute's value.

// h("button", {class: "quiet", onclick: f, "aria-label": "x"}, "text", child); dataset: {channel: name}
export function h(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "dataset") Object.assign(e.dataset, value);
    else if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "class") e.className = value;
    else e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// Text is written only when it has changed: a table of hundreds of rows is refreshed twice a second.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, name) {
  if (element.className !== name) element.className = name;
}

export function setAttr(element, name, value) {
  if (value === null) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}

// Rows of a container by key: made once, kept, put in the order of items, removed when their item is gone.
export class Keyed {
  #rows = new Map();

  constructor(container, make) {
    this.container = container;
    this.make = make; // (item, key) -> {element, update(item)}
  }

  update(items, keyOf) {
    const seen = new Set();
    let at = this.container.firstChild;
    for (const item of items) {
      const key = keyOf(item);
      if (seen.has(key)) continue;
      seen.add(key);
      if (!this.#rows.has(key)) this.#rows.set(key, this.make(item, key));
      const row = this.#rows.get(key);
      row.update(item);
      if (row.element === at) at = at.nextSibling;
      else this.container.insertBefore(row.element, at);
    }
    for (const [key, row] of this.#rows)
      if (!seen.has(key)) {
        row.element.remove();
        this.#rows.delete(key);
      }
  }

  get(key) {
    return this.#rows.get(key);
  }
}

// The options of a <select>, which is left alone while they are the same: it may be open.
export function setOptions(select, values, labelOf = (v) => v) {
  const key = JSON.stringify(values.map((v) => [v, labelOf(v)]));
  if (select.dataset.options === key) return;
  const before = select.value;
  select.dataset.options = key;
  select.replaceChildren(...values.map((v) => h("option", { value: v }, labelOf(v))));
  if (values.includes(before)) select.value = before;
}

// A colour of the style sheet as canvases want it.
export function colour(name) {
  const probe = h("span", { class: "probe" });
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

// Size of small text in CSS pixels: what is drawn follows what is written.
export const smallText = () => 0.85 * parseFloat(getComputedStyle(document.documentElement).fontSize);

// A canvas of as many pixels as it has on the screen; true: it has been resized, and is empty.
export function fitCanvas(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const w = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const h1 = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width === w && canvas.height === h1) return false;
  canvas.width = w;
  canvas.height = h1;
  return true;
}
