/* Simple players: what a person could write on a card. A player is data, so that whole populations play without Python.

   Three kinds: a loop of steps for ever; a rule, whose one or two conditions choose between two or four answers; a table,
   which has an answer for every distance, status and height of the enemy. A player sees what the Street Fighter II map
   publishes, so many frames late, and holds a pad itself or takes actions of the table of 44. */
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

/* Buttons of a step beside those of a pad: towards the enemy, and away from it. */
enum { HOLD_FORWARD = 4096, HOLD_BACK = 8192 };

enum player_kind { LOOP, RULE, TABLE };

/* What a condition looks at. The statuses are asked for by a set of them, all else by whether it is below a number. */
enum feature { DISTANCE, HEIGHT, ENEMY_FRAMES, OWN_FRAMES, LEAD, ENEMY_IS, OWN_IS };

struct condition {
    u8 feature;
    s16 below; /* or a set of statuses: bit n is status STATUS_STAND + 2 * n */
};

struct player_step {
    u16 held;  /* buttons; of a player that takes actions, the action's number */
    u8 frames; /* at least 1; not read if the player takes actions */
};

struct answer {
    u8 steps;
    struct player_step step[MOST_STEPS];
};

struct player {
    u8 kind;
    u8 late;       /* frames between what happens and what it sees */
    u8 interval;   /* frames between two actions; 0: it holds the pad itself */
    u8 knows_side; /* its left and right are away from the enemy and towards it */
    u8 conditions;
    struct condition condition[MOST_CONDITIONS];
    s16 distance_edge[DISTANCE_BANDS - 1]; /* ascending */
    s16 height_edge;
    u8 status_group[STATUSES];
    struct answer answer[MOST_ANSWERS]; /* a loop has one */
};

/* What came of a match. */
struct result {
    u32 frames;
    u32 trace;               /* a hash of where both stood and of their health on every frame */
    u32 landed[SIDES];
    u16 dealt, taken;        /* health, over all rounds */
    u8 victories[SIDES];
    u8 rounds;
    u8 time_outs;
    u8 clock_victories;      /* rounds that the player won by the clock */
};

/* Say what the 44 actions are: for each so many frames of buttons, and the action that it is in the mirror. */
#define ACTIONS 44
#define MOST_ACTION_FRAMES 8
struct action {
    u8 frames;
    u8 mirrored;
    u16 held[MOST_ACTION_FRAMES]; /* the last of them is held on */
};
extern struct action actions[ACTIONS];
PUBLIC void duel_set_actions(const struct action actions[ACTIONS]);

/* Let every player play all these matches, as pad 1; write its results one after the other, player by player. */
PUBLIC void duel_play(const struct player *players, u32 count, const struct setting *settings, u32 matches, struct result *results);
/* Let a player play one match and write its pads of each frame; return the number of frames. */
PUBLIC u32 duel_record(const struct player *player, const struct setting *setting, u16 *pads, u32 most_frames, struct result *result);

/* Who looks on at a match; called after each frame, with the player's pad. */
typedef void watcher(u16 pad);
/* A watcher that keeps the pads of a match, as far as there is room. */
void record_into(u16 *pads, u32 room);
void note_pad(u16 pad);
/* Who holds pad 1; called before each frame. */
typedef u16 holder(void *who);
void play_match(holder *holds, void *who, const struct setting *setting, watcher *watch, struct result *result);
void play_simple(const struct player *player, const struct setting *setting, watcher *watch, struct result *result);

#endif
