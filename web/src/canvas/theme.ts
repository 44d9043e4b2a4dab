/** The colours of the canvas, read from the design tokens of the page, so that both have the same theme. */

import type { Colour } from "../model/workflow";

export interface Theme {
  readonly dark: boolean;
  readonly canvas: string;
  readonly dot: string;
  readonly node: string;
  readonly header: string;
  readonly line: string;
  readonly well: string;
  readonly text: string;
  readonly muted: string;
  readonly faint: string;
  readonly accent: string;
  readonly good: string;
  readonly warn: string;
  readonly bad: string;
  readonly bypass: string;
  readonly shadow: string;
}

export const FONT = '"Inter Variable", system-ui, sans-serif';

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    dark: document.documentElement.dataset.theme === "dark",
    canvas: token("canvas"),
    dot: token("dot"),
    node: token("raised"),
    header: token("header"),
    line: token("line"),
    well: token("well"),
    text: token("text"),
    muted: token("muted"),
    faint: token("faint"),
    accent: token("accent"),
    good: token("good"),
    warn: token("warn"),
    bad: token("bad"),
    bypass: token("bypass"),
    shadow: token("shadow-colour"),
  };
}

/** Hues of common labels. Those of others are computed from their names. */
const HUES: Record<string, number> = {
  frame: 262,
  frames: 286,
  logits: 232,
  action: 32,
  pad: 152,
  variables: 186,
  number: 212,
  flag: 48,
  text: 330,
  situation: 12,
};

const CHOSEN_HUES: Record<Colour, number> = {
  red: 2,
  orange: 30,
  green: 145,
  teal: 186,
  blue: 218,
  purple: 276,
};

/** Return the colour that somebody gave a node or a frame. */
export const chosenColour = (colour: Colour, dark: boolean): string =>
  `hsl(${CHOSEN_HUES[colour]} 62% ${dark ? 62 : 42}%)`;

/** Return the colour of a label, for sockets, links and lists. */
export function labelColour(label: string, dark: boolean): string {
  if (label === "any" || label === "value") return dark ? "hsl(220 8% 62%)" : "hsl(220 8% 50%)";
  const hue = Object.hasOwn(HUES, label)
    ? HUES[label]!
    : [...label].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 360, 7);
  const yellow = hue > 35 && hue < 200;
  return dark ? `hsl(${hue} 62% ${yellow ? 60 : 70}%)` : `hsl(${hue} 62% ${yellow ? 38 : 52}%)`;
}
