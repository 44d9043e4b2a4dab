/** The data sets in the panel on the left, with their counts. */

import type { DataSetInfo } from "../model/samples";
import { h, icon } from "./dom";

export function dataList(sets: readonly DataSetInfo[], open: (name: string) => void): HTMLElement {
  const rows = sets.map((set) =>
    h(
      "button",
      {
        type: "button",
        class: "item data-row",
        title: set.fault ?? set.name,
        disabled: set.fault !== null,
        data: { set: set.name },
        onclick: () => open(set.name),
      },
      icon("samples"),
      h(
        "span",
        { class: "grow" },
        set.name,
        set.fault === null ? h("small", {}, counts(set)) : null,
        set.fault === null ? h("small", {}, set.game) : null,
        set.fault === null ? null : h("small", { class: "reason" }, set.fault),
      ),
    ),
  );
  const hint = "A workflow with a SampleWriter collects them, such as duel_collect.";
  return h(
    "section",
    {},
    ...(rows.length ? rows : [h("p", { class: "empty" }, "No data sets yet.")]),
    h("p", { class: "hint" }, hint),
  );
}

function counts({ count, samples, size }: DataSetInfo): string {
  const episodes = count === 1 ? "1 episode" : `${count.toLocaleString("en")} episodes`;
  const megabytes = (size / 1e6).toLocaleString("en", { maximumFractionDigits: 1 });
  return `${episodes}, ${samples.toLocaleString("en")} samples, ${megabytes} MB`;
}
