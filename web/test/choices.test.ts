import { expect, test } from "vitest";

import { filterChoices, stateChoices } from "../src/model/choices";

const game = {
  name: "Duel",
  default_state: "Level1.A",
  states: ["Level1.A", "Level2.A", "Level2.B", "Level10.A", "Level10.B", "Level1.B", "mine"],
  splits: {
    training: ["Level10.A", "Level10.B", "Level2.A", "Level2.B", "Level1.A"],
    held_back: ["Level1.B"],
    empty: [],
  },
  variables: [],
};
const groups = stateChoices(game, (state) => `picture of ${state}`);
const listed = (shown: typeof groups) =>
  Object.fromEntries(shown.map(({ name, choices }) => [name, choices.map(({ value }) => value)]));

test("states are grouped by split, after the patterns that select several", () => {
  expect(listed(groups)).toEqual({
    Training: [
      "training/*",
      "training/Level2.*",
      "training/Level10.*",
      "Level1.A",
      "Level2.A",
      "Level2.B",
      "Level10.A",
      "Level10.B",
    ],
    "Held back": ["held_back/*", "Level1.B"],
    "In no split": ["mine"],
  });
  expect(groups[0]!.choices[1]).toEqual({
    value: "training/Level2.*",
    detail: "2 states",
    picture: "picture of training/Level2.*",
  });
});

test("a game without splits has a plain list", () => {
  const plain = stateChoices({ ...game, splits: {} }, () => "");
  expect(plain.map(({ name }) => name)).toEqual(["Save states"]);
  expect(plain[0]!.choices).toHaveLength(7);
});

test("all words that are typed occur in a choice or in the name of its group", () => {
  expect(listed(filterChoices(groups, "level10"))).toEqual({
    Training: ["training/Level10.*", "Level10.A", "Level10.B"],
  });
  expect(listed(filterChoices(groups, "held b"))).toEqual({
    "Held back": ["held_back/*", "Level1.B"],
  });
  expect(filterChoices(groups, "nothing")).toEqual([]);
});
