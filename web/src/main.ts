/** The page: creates its parts and connects them. */

import "@fontsource-variable/inter";
import "./style/tokens.css";
import "./style/controls.css";
import "./style/page.css";
import "./style/overlay.css";

import { api, type BrainInfo, faultText } from "./api";
import { type Command, listenForKeys } from "./editor/commands";
import { Editor, type EditorCallbacks } from "./editor/editor";
import { Files } from "./editor/files";
import { OwnKeys } from "./editor/own_keys";
import { Parts } from "./editor/parts";
import { Pictures } from "./editor/pictures";
import { Session } from "./editor/session";
import { StartPictures } from "./editor/start_pictures";
import { Catalog } from "./model/catalog";
import { makeCommands } from "./ui/actions";
import { budgetBar } from "./ui/budget_bar";
import { openCommands } from "./ui/command_palette";
import { ComparisonView } from "./ui/comparison_view";
import { showCrumbs } from "./ui/crumbs";
import { button, h, icon } from "./ui/dom";
import { watchDrops } from "./ui/drops";
import { openGallery } from "./ui/gallery";
import { openHelp } from "./ui/help";
import { count, Inspector } from "./ui/inspector";
import { minimapView } from "./ui/minimap_view";
import { contextMenu, editPart } from "./ui/node_menus";
import { showMessage } from "./ui/overlay";
import { openPalette } from "./ui/palette";
import { Panel } from "./ui/panel";
import { Previews } from "./ui/previews";
import { openResults } from "./ui/results";
import { openSweep } from "./ui/sweep_view";
import { followTheme, toggleTheme } from "./ui/theme";
import { TimelineBar } from "./ui/timeline_bar";
import { toolbar } from "./ui/toolbar";
import { Values } from "./ui/values";

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

async function start(): Promise<void> {
  followTheme(() => editor.board.retheme());
  await document.fonts.load('600 13px "Inter Variable"').catch(() => undefined);
  const catalog = new Catalog(await api.nodes());
  const stage = element("stage");
  const canvas = element<HTMLCanvasElement>("board");
  let brains: readonly BrainInfo[] = [];
  let commands: readonly Command[] = [];
  let view: { drawn(): void } | null = null;

  const callbacks: EditorCallbacks = {
    palette: (at, client, dragged) => openPalette(editor, at, client, dragged),
    menu: (target, at, client) => contextMenu(editor, commands, target, at, client),
    part: (id, part, client) => editPart(editor, brains, id, part, client),
    open: (id) => {
      if (editor.isBox(id)) {
        editor.enter(id);
        return;
      }
      editor.board.select([id]);
      inspector.focus("Title");
    },
    drawn: () => view?.drawn(),
  };
  const editor: Editor = new Editor(canvas, catalog, callbacks);
  const files = new Files(editor);
  const parts = new Parts(editor);
  const session = new Session(editor, element("screens"));
  const pictures = new Pictures(editor, session);
  files.pictureToSave = () => pictures.ofGame();
  const previews = new Previews(element("screens"), editor);
  session.updatePreviews = (run) => previews.update(run, session.timeline?.series ?? {});
  const inspector = new Inspector(element("inspector"), editor, session);
  const resize = () => editor.board.resize(stage.clientWidth, stage.clientHeight);
  const gallery = () => void openGallery(editor, files);
  const panel = new Panel(element("rail"), element("panel"), editor, session, files, {
    gallery,
    resized: resize,
    inspect: (id) => {
      editor.board.select([id]);
      inspector.focus();
    },
  });
  const values = new Values(element("values"), editor, session);
  inspector.showValues = () => values.toggle();
  view = minimapView(element("corner"), editor, () => session.updateWatch());
  const theme = () => {
    toggleTheme();
    editor.board.retheme();
    inspector.render(true);
  };
  const ownKeys = new OwnKeys(localStorage);
  const bound = makeCommands(editor, session, files, {
    commands: () => openCommands(commands, ownKeys),
    help: () => openHelp(commands),
    theme,
    panel,
    parts,
    pictures,
    values: () => values.toggle(),
    showValues: () => values.open(),
    gallery,
    sweep: () => void openSweep(editor, session),
    palette: () => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const client = [left + width / 2 - 210, top + height / 4] as const;
      openPalette(editor, null, client, null);
    },
  });
  commands = ownKeys.bind(bound);
  listenForKeys(commands);
  toolbar(element("bar"), editor, session, files, {
    help: () => openHelp(commands),
    theme,
    results: () => session.run && openResults(session.run),
  });
  budgetBar(element("budget"), editor, session);
  new TimelineBar(element("timeline"), session, editor);
  new ComparisonView(element("comparison"), session);
  watchDrops(stage, editor, files);
  showFaults(editor);
  showCrumbs(element("crumbs"), editor);
  showEmptyHint(editor, gallery);

  const loadBrains = async () => {
    brains = inspector.brains = panel.brains = await api.brains().catch(() => []);
    inspector.render(true);
    panel.renderFiles();
  };
  session.on((what) => what === "brains" && void loadBrains());
  session.on((what) => what === "parts" && void parts.load());
  parts.on(() => inspector.render(true));
  const startPictures = new StartPictures(editor);
  session.on((what) => {
    if (what === "games") void editor.games.load().then(() => startPictures.update());
  });
  new ResizeObserver(resize).observe(stage);

  resize();
  const wasThere = editor.document.restore();
  editor.board.showOpened();
  if (editor.document.run) session.follow(editor.document.run);
  inspector.render(true);
  void loadBrains();
  if (!wasThere) gallery();
  Object.assign(globalThis, { minibrains: { editor, session } }); // for tests and for the browser's console
}

/** Show the first fault, as a button that selects its node. */
function showFaults(editor: Editor): void {
  const container = element("fault");
  editor.on("faults", () => {
    const { faults } = editor;
    const first = faults[0];
    container.replaceChildren();
    if (!first) return;
    const more = faults.length > 1 ? ` (${count(faults.length, "thing")} to fix)` : "";
    const go = () => {
      if (first.node && editor.goTo(first.node)) editor.board.fit([first.node]);
    };
    container.append(
      h(
        "button",
        { type: "button", onclick: go },
        icon("warn"),
        h("span", {}, `${first.node ? `${first.node}: ` : ""}${faultText(first)}${more}`),
      ),
    );
  });
}

function showEmptyHint(editor: Editor, gallery: () => void): void {
  const hint = element("hint");
  hint.append(h("p", {}, "Double click to add a node"), button("Open the gallery", gallery));
  const show = () => {
    hint.hidden = Object.keys(editor.workflow.nodes).length > 0;
  };
  editor.on("document", show);
  show();
}

start().catch((error: unknown) =>
  showMessage(error instanceof Error ? error.message : String(error), "error"),
);
