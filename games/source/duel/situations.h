/* The situation that an opponent is in, and the predictions that its responses use. */
#ifndef SITUATIONS_H
#define SITUATIONS_H

#include "mind.h"
#include "sight.h"

/* Pixels and frames are predictions for when an input takes effect, if both fighters carry on. */
struct view {
    const struct seen_fighter *me, *it;
    s16 reaction;   /* frames of reaction time */
    s16 gap;        /* pixels between the two centres */
    s16 closing;    /* pixels per frame at which the other fighter walks closer */
    s16 passed;     /* frames of the other fighter's move so far */
    s16 left;       /* frames of that move after these */
    s16 can_hit;    /* frames for which it can still hit */
    s16 to_landing; /* frames until the other fighter lands */
    s16 free_in;    /* frames until the fighter that is down is up and can be hit */
    s16 stun;       /* frames until its own fighter can act */
};

/* Pixels: from closer, the other fighter can walk up before the recovery of a projectile ends. */
#define SAFE_TO_SHOOT 112
/* Pixels: no jump reaches further. */
#define OUT_OF_A_JUMP 150

/* The situation after the other fighter has begun something (SHOT, JUMP, BLOW). */
u8 situation_of(const struct mind *mind, struct view *view, u8 begun);
/* The situation if there is nothing to respond to. */
u8 situation_at_rest(struct view *view);
/* True in the recovery after a jumping attack if the other fighter is close: then it decides before it can act. */
u8 lands_near(const struct view *view);

/* True if a fighter in this state is knocked down or held. */
static inline u8 is_down(u8 state) { return state == FALLING || state == LYING || state == STANDING_UP || state == HELD; }

/* ---- frame data ---- */

static inline const struct character *character_seen(const struct seen_fighter *f) { return &characters[f->character]; }
static inline const struct move *move_seen(const struct seen_fighter *f, u8 move) { return &characters[f->character].moves[move]; }
/* Pixels between the two centres up to which a move hits. */
static inline s16 reach_of(const struct seen_fighter *f, u8 move) { return (s16)(move_seen(f, move)->reach + BODY_HALF); }

#endif
