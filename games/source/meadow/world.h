/* A world as make_world.py writes it, and the part of it that the hero is in. */
#ifndef WORLD_H
#define WORLD_H

#include "published.h"
#include "world_data.h"

#define COLUMNS 30
#define ROWS 18
#define NOWHERE 255
#define NOBODY 255
#define THINGS_HERE 8
#define CREATURES_HERE 4
#define DOORS_HERE 4
#define WORDS 4

enum { DOWN, UP, LEFT, RIGHT, DIRECTIONS };
enum { SOLID = 1, HURTS = 2, HEALS = 4 }; /* what the ground does, as bits */

/* ---- the tables ---- */
/* A condition is where a list of bytes begins in conditions[], 0 for none; a script likewise in scripts[]. */
struct door { u8 x, y, area, to_x, to_y, facing; u16 needs, refusal; };
struct thing { u8 x, y, sprite, facing; u16 shown_if, first_rule; u8 rules; };
struct rule { u16 condition, script; };
struct spawn { u8 creature, x, y; };
struct area {
    const char *name;
    const u16 *cells; /* what the background shows */
    const u8 *ground;
    u8 outdoors;
    u16 battle_cell;
    u8 edge[DIRECTIONS];
    u8 first_door, doors, first_thing, things, first_spawn, spawns;
};
struct item { const char *name, *about; u16 use; u8 attack; };
struct creature { const char *name; u8 sprite, health, attack, money, pace, keeps; u16 armour, when; };
struct secret { u8 asked; const char *words[WORDS]; };
struct quest { const char *name, *type; u8 first_step, steps; };
struct step { u8 flag; u16 hint; };
struct place { u8 area, x, y, facing; };

extern const u8 conditions[], scripts[];
extern const struct door doors[];
extern PLACED struct thing things[]; /* constant, unless a maze places them */
extern const struct rule rules[];
extern const struct spawn spawns[];
extern const struct area areas[];
extern const struct item items[];
extern const struct creature creatures[];
extern const struct secret secrets[];
extern const struct quest quests[]; /* the first is the main quest */
extern const struct step steps[];
extern const char *const texts[];
extern const struct place start_place, after_death;
extern const char world_subtitle[];

/* ---- the area that the hero is in ---- */
struct present { u8 number, x, y, facing, stepping; }; /* number: of the thing, or NOBODY */
extern struct present present[THINGS_HERE];

extern const s8 step_x[DIRECTIONS], step_y[DIRECTIONS];
static inline const struct area *area_here(void) { return &areas[game.area]; }
static inline u8 is_wall(u8 x, u8 y) { return game.wall[y] >> x & 1; }

u8 is_night(void);
u8 holds(u16 condition);
void enter_area(const struct place *place);
void refresh_things(void);
struct present *thing_at(u8 x, u8 y);
const struct door *door_at(u8 x, u8 y);
u8 steps_done(u8 quest);

#endif
