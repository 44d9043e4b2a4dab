/** What a widget that names a game, a save state or a variable can be set to on this machine. */

/** A game on the server's machine. */
export interface GameInfo {
  readonly name: string;
  /** The state that an episode starts from if the workflow names none; null: power-on. */
  readonly default_state: string | null;
  readonly states: readonly string[];
  /** The states of each split of the game. */
  readonly splits: Readonly<Record<string, readonly string[]>>;
  readonly variables: readonly string[];
}

export interface Choice {
  readonly value: string;
  readonly detail: string;
  /** The address of a picture. */
  readonly picture: string | null;
}

export interface ChoiceGroup {
  readonly name: string;
  readonly choices: readonly Choice[];
}

const byNumber = new Intl.Collator("en", { numeric: true }).compare;

/** Return the states of a game by split, each split with the patterns that select several of its states. */
export function stateChoices(
  game: GameInfo,
  picture: (state: string) => string,
): readonly ChoiceGroup[] {
  const choice = (value: string, detail = ""): Choice => ({
    value,
    detail,
    picture: picture(value),
  });
  const groups: ChoiceGroup[] = [];
  const inSplits = new Set<string>();
  for (const [split, states] of Object.entries(game.splits)) {
    if (states.length === 0) continue;
    for (const state of states) inSplits.add(state);
    const patterns = patternsOf(split, states);
    groups.push({
      name: splitName(split),
      choices: [
        ...patterns.map(([pattern, count]) => choice(pattern, `${count} states`)),
        ...[...states].sort(byNumber).map((state) => choice(state)),
      ],
    });
  }
  const rest = game.states.filter((state) => !inSplits.has(state)).sort(byNumber);
  const name = inSplits.size ? "In no split" : "Save states";
  if (rest.length) groups.push({ name, choices: rest.map((state) => choice(state)) });
  return groups;
}

/** Return the pattern of a whole split, and one for each first part of a name that several states share, with their number. */
function patternsOf(split: string, states: readonly string[]): readonly [string, number][] {
  const counts = new Map<string, number>();
  for (const state of states) {
    const [first] = state.split(".");
    counts.set(first!, (counts.get(first!) ?? 0) + 1);
  }
  const shared = [...counts]
    .filter(([, count]) => count > 1 && count < states.length)
    .sort(([a], [b]) => byNumber(a, b))
    .map(([first, count]) => [`${split}/${first}.*`, count] as [string, number]);
  return [[`${split}/*`, states.length], ...shared];
}

function splitName(split: string): string {
  const text = split.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Return the choices in which all words of the text occur, in their own name or in that of their group. */
export function filterChoices(
  groups: readonly ChoiceGroup[],
  text: string,
): readonly ChoiceGroup[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const filtered = groups.map(({ name, choices }) => ({
    name,
    choices: choices.filter(({ value }) => {
      const searched = `${value} ${name}`.toLowerCase();
      return words.every((word) => searched.includes(word));
    }),
  }));
  return filtered.filter(({ choices }) => choices.length > 0);
}
