/** Creating elements. Data becomes text or attributes, never markup. */

type Child = Node | string | null | undefined | false;
type Properties = Record<string, unknown> & { class?: string; data?: Record<string, string> };

/** Create an element. Properties `on…` are listeners, `data` is the dataset, others are attributes (true: set, false: not). */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value" || name === "checked" || name === "selected")
      Object.assign(element, { [name]: value });
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, String(value));
  }
  element.append(
    ...children.filter(
      (child): child is Node | string => child !== null && child !== undefined && child !== false,
    ),
  );
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** Paths of icons, in a box of 20 by 20. */
const ICONS = {
  box: "M3.500 6.500L10 3l6.500 3.500v7L10 17l-6.500-3.500zM3.500 6.500L10 10l6.500-3.500M10 10v7",
  play: "M6 4.5v11l9-5.5z",
  pause: "M7 5v10M13 5v10",
  pad: "M6.500 6h7a4 4 0 0 1 4 4v2a2.500 2.500 0 0 1-4.700 1.200L12 12H8l-.8 1.200A2.500 2.500 0 0 1 2.500 12v-2a4 4 0 0 1 4-4zM6.500 8v3M5 9.500h3M12.500 8.700h.01M14.300 10.300h.01",
  clip: "M3.500 4.500h13v11h-13zM7 4.500v11M13 4.500v11M3.500 8h3.500M3.500 12h3.500M13 8h3.500M13 12h3.500",
  left: "M12 5l-5 5 5 5",
  right: "M8 5l5 5-5 5",
  back: "M13 5v10l-7-5zM4.500 5v10",
  forwards: "M7 5v10l7-5zM15.500 5v10",
  fork: "M5 16V4M5 12h4a4 4 0 0 0 4-4V5M10.500 7.500L13 5l2.500 2.500",
  record: "M10 15a5 5 0 1 0 0-10 5 5 0 0 0 0 10z",
  stop: "M5.5 5.5h9v9h-9z",
  search: "M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4",
  plus: "M10 4v12M4 10h12",
  list: "M7.5 5.5H16M7.5 10H16M7.5 14.5H16M4 5.5h.01M4 10h.01M4 14.5h.01",
  folder:
    "M3 6.5v8A1.5 1.5 0 0 0 4.500 16h11a1.500 1.500 0 0 0 1.500-1.500v-6A1.500 1.500 0 0 0 15.500 7H10L8.500 5h-4A1.500 1.500 0 0 0 3 6.500z",
  clock: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6.500V10l2.500 1.500",
  save: "M4.500 3.500h8.500L16.500 7v8.500a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1v-11a1 1 0 0 1 1-1zM7 3.500V7h5V3.500M6.500 16.500v-5h7v5",
  open: "M10 13V4M6.500 7.500L10 4l3.500 3.500M4 12.500v3.500h12v-3.500",
  download: "M10 4v9M6.500 9.500L10 13l3.500-3.500M4 12.500v3.500h12v-3.500",
  undo: "M7.500 5L4 8.500 7.500 12M4 8.500h7.500a4 4 0 0 1 0 8H8",
  redo: "M12.500 5L16 8.500 12.500 12M16 8.500H8.500a4 4 0 0 0 0 8H12",
  moon: "M16.500 11.500A7 7 0 0 1 8.500 3.500a7 7 0 1 0 8 8z",
  sun: "M10 13.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100",
  help: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM8 8a2 2 0 1 1 2.800 1.800c-.5.3-.8.7-.8 1.400M10 13.700h.01",
  close: "M5.500 5.500l9 9M14.500 5.500l-9 9",
  sliders: "M4 6h7M15 6h1M4 14h1M9 14h7M13 4.300v3.400M7 12.300v3.400",
  grid: "M4 4h4.500v4.500H4zM11.500 4H16v4.500h-4.500zM4 11.500h4.500V16H4zM11.500 11.500H16V16h-4.500z",
  brain:
    "M4 6c0-1.400 2.700-2.500 6-2.500S16 4.600 16 6s-2.700 2.500-6 2.500S4 7.400 4 6zM4 6v8c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500V6M4 10c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500",
  samples: "M3.500 4.500h13v11h-13zM3.500 13l3.500-3.500 3 3 2.500-2.500 4 4M12.500 7.500h.01",
  fit: "M3.500 7.500v-4h4M16.500 7.500v-4h-4M3.500 12.500v4h4M16.500 12.500v4h-4",
  trash: "M4 5.500h12M8 5.500v-2h4v2M5.500 5.500l.7 11h7.600l.7-11",
  warn: "M10 3.500l7.500 13h-15zM10 8.500v3.500M10 14.300h.01",
  more: "M5 10h.01M10 10h.01M15 10h.01",
} as const;

export type Icon = keyof typeof ICONS;

export function icon(name: Icon): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** Create a button with an icon. The label is its tooltip and its name for screen readers. */
export function iconButton(
  name: Icon,
  label: string,
  onclick: () => void,
  properties: Properties = {},
): HTMLButtonElement {
  return h(
    "button",
    {
      type: "button",
      title: label,
      "aria-label": label,
      onclick,
      ...properties,
      class: `icon-button ${properties.class ?? ""}`,
    },
    icon(name),
  );
}

/** Have the browser save what is at an address. */
export const download = (address: string, name: string): void =>
  h("a", { href: address, download: name }).click();

export function button(
  label: string,
  onclick: () => void,
  kind = "",
  lead?: Icon,
): HTMLButtonElement {
  return h(
    "button",
    { type: "button", class: `button ${kind}`, onclick },
    lead && icon(lead),
    h("span", {}, label),
  );
}
