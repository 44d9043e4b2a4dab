/** The games on the server's machine, and what widgets that name something of them can be set to. */

import { api } from "../api";
import type { Catalog, Widget } from "../model/catalog";
import { type ChoiceGroup, type GameInfo, stateChoices } from "../model/choices";
import { isObject, type Json } from "../model/json";
import type { NodeEntry, Workflow } from "../model/workflow";

export class Games {
  /** The games whose ROM is there; a new console plays the first one. */
  names: readonly string[] = [];
  readonly #infos = new Map<string, Promise<GameInfo | null>>();
  #loading: Promise<void> | null = null;

  constructor(private readonly catalog: Catalog) {}

  /** Ask the server which games there are, and forget their states and variables. */
  load(): Promise<void> {
    this.#infos.clear();
    this.#loading = api
      .games()
      .catch(() => [])
      .then((names) => {
        this.names = names;
      });
    return this.#loading;
  }

  /** Return the game that a node plays: the first of those it names that is there; null if it names none. */
  playedBy(entry: NodeEntry): string | null {
    const named = this.#named(entry, "game");
    return named.find((name) => this.names.includes(name)) ?? named[0] ?? null;
  }

  /** Return the settings of a new node: a console plays the first game. */
  settingsOfNew(type: string): NodeEntry["set"] {
    const name = this.#widget(type, "game")?.[0];
    const first = this.names[0];
    if (!this.catalog.find(type)?.console || name === undefined || first === undefined)
      return undefined;
    return { [name]: first };
  }

  /** Return the address of the picture that an episode of a console begins with; null if there is none. */
  async startPicture(entry: NodeEntry): Promise<string | null> {
    await (this.#loading ?? this.load());
    const game = this.playedBy(entry);
    const info = game && (await this.#info(game));
    if (!info) return null;
    const state = this.#named(entry, "state")[0] ?? info.default_state;
    if (state === null) return null;
    const isThere = info.states.includes(state) || Object.hasOwn(info.splits, state.split("/")[0]!);
    return isThere ? api.picture(info.name, state) : null;
  }

  /** Return the texts of the widget of a node that names such things. */
  #named(entry: NodeEntry, names: Widget["names"]): readonly string[] {
    const found = this.#widget(entry.type, names);
    if (!found) return [];
    const [name, widget] = found;
    const set = isObject(entry.set) ? entry.set : {};
    return texts(Object.hasOwn(set, name) ? set[name] : widget.default);
  }

  #widget(type: string, names: Widget["names"]): [string, Widget] | undefined {
    const widgets = Object.entries(this.catalog.find(type)?.widgets ?? {});
    return widgets.find(([, widget]) => widget.names === names);
  }

  /** Return what a widget of a node can be set to, if it names something of a game. */
  async choices(
    workflow: Workflow,
    entry: NodeEntry,
    names: Widget["names"],
  ): Promise<readonly ChoiceGroup[]> {
    await (this.#loading ?? this.load());
    if (names === "game") {
      const choices = this.names.map((value) => ({ value, detail: "", picture: null }));
      return choices.length ? [{ name: "Games on this machine", choices }] : [];
    }
    const infos = await Promise.all(
      this.#gamesFor(workflow, entry).map((game) => this.#info(game)),
    );
    return infos.flatMap((info) => (info ? groupsOf(info, names) : []));
  }

  /** Return the game that the node itself names, or else those of the consoles. */
  #gamesFor(workflow: Workflow, entry: NodeEntry): readonly string[] {
    const own = this.playedBy(entry);
    if (own) return [own];
    const consoles = Object.values(workflow.nodes).filter(
      (each) => this.catalog.find(each.type)?.console,
    );
    const played = consoles.map((each) => this.playedBy(each));
    return [...new Set(played)].filter((game) => game !== null);
  }

  #info(game: string): Promise<GameInfo | null> {
    const known = this.#infos.get(game);
    if (known !== undefined) return known;
    const info = this.names.includes(game)
      ? api.game(game).catch(() => null)
      : Promise.resolve(null);
    this.#infos.set(game, info);
    return info;
  }
}

function groupsOf(info: GameInfo, names: Widget["names"]): readonly ChoiceGroup[] {
  if (names === "state") return stateChoices(info, (state) => api.picture(info.name, state));
  const choices = info.variables.map((value) => ({ value, detail: "", picture: null }));
  return [{ name: `Variables of ${info.name}`, choices }];
}

function texts(value: Json | undefined): readonly string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((each): each is string => typeof each === "string" && each !== "");
}
