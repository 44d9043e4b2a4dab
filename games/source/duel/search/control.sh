#!/bin/sh
# Make a checkout of today's search with the game of ROM 436f9528, which is known to lose to loops and rules:
#
#     sh games/source/duel/search/control.sh FOLDER
#     cd FOLDER && PYTHONPATH=. python -m games.source.duel.calibrate --only exploits --levels 4 --rows rows.jsonl
#
# A search that does not find such players there proves nothing where it finds none. The judge is tried in the
# same way: python -m games.source.duel.search.judge --draw NUMBER --levels 4. Needs git, gcc and the history.
set -eu
old=ca0c8eb
folder=$(realpath -m "${1:?say where: control.sh FOLDER}")
cd "$(dirname "$0")/../../../.."
git worktree add --detach --quiet "$folder" HEAD
cd "$folder/games/source/duel"

# the opponent of that time did not learn, and there was no sound
rm mind.[ch] situations.[ch] deeds.[ch] choosing.[ch] tactics.[ch] sight.[ch] sound.[ch] habits.[ch] native/tuning.[ch] native/teacher.c
for file in $(git ls-tree --name-only $old . | grep -e '\.[chS]$' -e gen_art.py); do
  git show "$old:./$file" >"$file"
done
sed -i \
  -e 's|^SOURCES := .*|SOURCES := main.c rules.c fighter.c characters.c input.c opponent.c video.c hud.c build/art.c art.S|' \
  -e 's|^NATIVE_PLAYERS := .*|NATIVE_PLAYERS := native/players.c native/blows.c native/lesson.c native/palette.c|' Makefile

cd "$folder/games/Duel-Genesis"
for file in rom.md rom.sha data.json data_sf2.json scenario.json metadata.json evaluation.json; do
  git show "$old:./$file" >"$file"
done
