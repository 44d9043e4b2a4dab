/* In which situation an opponent is, and what it reckons with there. */
#ifndef SITUATIONS_H
#define SITUATIONS_H

#include "mind.h"
#include "sight.h"

/* Pixels and frames are those by the time that the pad acts, if both go on as they do. */
struct view {
    const struct seen_fighter *me, *it;
    s16 reaction;   /* frames since what it sees of the other */
    s16 gap;        /* pixels between the two middles */
    s16 closing;    /* pixels a frame by which the other walks nearer */
    s16 passed;     /* frames of the other's move */
    s16 left;       /* frames of it after that */
    s16 can_hit;    /* frames for which it can still hit */
    s16 to_landing; /* frames until the other's jump ends */
    s16 free_in;    /* frames until who lies there is up and can be hit */
    s16 stun;       /* frames until it can do something again itself */
};

/* Pixels: from nearer, who walks in is there before a shot's owner can move again. */
#define SAFE_TO_SHOOT 112
/* Pixels: from further away no jump reaches. */
#define OUT_OF_A_JUMP 150

/* The situation once the other has begun what is in `begun`. */
u8 situation_of(const struct mind *mind, struct view *view, u8 begun);
/* The situation if it has begun nothing. */
u8 situation_at_rest(struct view *view);
/* Does it land, after a jump with a blow, where the other can reach it? Then it decides before it can move again. */
u8 lands_near(const struct view *view);

/* Is a fighter in this state off its feet? */
static inline u8 is_down(u8 state) { return state == FALLING || state == LYING || state == STANDING_UP || state == HELD; }

/* ---- what the tables of moves say ---- */

static inline const struct character *character_seen(const struct seen_fighter *f) { return &characters[f->character]; }
static inline const struct move *move_seen(const struct seen_fighter *f, u8 move) { return &characters[f->character].moves[move]; }
/* Pixels between the two middles up to which a move hits. */
static inline s16 reach_of(const struct seen_fighter *f, u8 move) { return (s16)(move_seen(f, move)->reach + BODY_HALF); }

#endif
