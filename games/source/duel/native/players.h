/* Simple players, whose strategy would fit on a card. A player is data, so that whole populations play
   without Python.

   There are three kinds. A loop repeats its steps. A rule has one or two conditions, which choose between
   two or four answers. A table has an answer for each band of the enemy's distance, group of its statuses
   and band of its height. A player sees the variables of the Street Fighter II map with a delay. It either
   holds a pad directly or takes actions from the table of 44. */
#ifndef PLAYERS_H
#define PLAYERS_H

#include "game.h"

#define MOST_STEPS 6
#define MOST_CONDITIONS 2
#define DISTANCE_BANDS 4
#define STATUS_GROUPS 3
#define HEIGHT_BANDS 2
#define MOST_ANSWERS (DISTANCE_BANDS * STATUS_GROUPS * HEIGHT_BANDS)
#define STATUSES 7
#define MOST_LATE 60

/* Buttons of a step besides those of a pad: towards the enemy, and away from it. */
enum { HOLD_FORWARD = 4096, HOLD_BACK = 8192 };

enum player_kind { LOOP, RULE, TABLE };

/* What a condition tests: for a status, whether it is in a set; for the others, whether it is below a number. */
enum feature { DISTANCE, HEIGHT, ENEMY_FRAMES, OWN_FRAMES, LEAD, ENEMY_IS, OWN_IS };

struct condition {
    u8 feature;
    s16 below; /* or a set of statuses: bit n for STATUS_STAND + 2 * n */
};

struct player_step {
    u16 held;  /* buttons, or the number of an action if the player takes actions */
    u8 frames; /* at least 1; ignored if the player takes actions */
};

struct answer {
    u8 steps;
    struct player_step step[MOST_STEPS];
};

struct player {
    u8 kind;
    u8 late;       /* delay of what it sees, in frames */
    u8 interval;   /* frames between two actions; 0: it holds the pad directly */
    u8 knows_side; /* its inputs are mirrored while the enemy is on the left */
    u8 conditions;
    struct condition condition[MOST_CONDITIONS];
    s16 distance_edge[DISTANCE_BANDS - 1]; /* ascending */
    s16 height_edge;
    u8 status_group[STATUSES];
    struct answer answer[MOST_ANSWERS]; /* a loop has one */
};

/* The result of a match. */
struct result {
    u32 frames;
    u32 trace;               /* a hash of both sides' positions and health on every frame */
    u32 landed[SIDES];
    u16 dealt, taken;        /* damage, over all rounds */
    u8 victories[SIDES];
    u8 rounds;
    u8 time_outs;
};

/* The 44 actions, which Python sets: the buttons of each frame, and the number of the mirrored action. */
#define ACTIONS 44
#define MOST_ACTION_FRAMES 8
struct action {
    u8 frames;
    u8 mirrored;
    u16 held[MOST_ACTION_FRAMES]; /* the last of them stays held */
};
extern struct action actions[ACTIONS];
PUBLIC void duel_set_actions(const struct action actions[ACTIONS]);

/* Play all these matches with each player as pad 1. Write the results [players, matches], row by row. */
PUBLIC void duel_play(const struct player *players, u32 count, const struct setting *settings, u32 matches, struct result *results);
/* Play one match and write the player's pad on each frame. Return the number of frames, which may exceed `most_frames`. */
PUBLIC u32 duel_record(const struct player *player, const struct setting *setting, u16 *pads, u32 most_frames, struct result *result);

/* An observer of a match; called after each frame with the player's pad. */
typedef void watcher(u16 pad);
/* Record the pads of a match: note_pad is a watcher that keeps them while there is room. */
void record_into(u16 *pads, u32 room);
void note_pad(u16 pad);
/* A source of pad 1; called before each frame. */
typedef u16 holder(void *who);
void play_match(holder *holds, void *who, const struct setting *setting, watcher *watch, struct result *result);
void play_simple(const struct player *player, const struct setting *setting, watcher *watch, struct result *result);
/* A source of answers for the cells of a rule or table, in place of its own; called at each decision. */
typedef const struct answer *chooser(u8 cell);
void play_choosing(const struct player *player, chooser *choose, const struct setting *setting, watcher *watch, struct result *result);

#endif
