/* One fighter: a state machine driven by its pad. Hits are resolved in rules.c. */
#ifndef FIGHTER_H
#define FIGHTER_H

#include "characters.h"
#include "input.h"

#define FULL_HP 176
#define KNOCKED_OUT (-1)

#define GROUND PIXELS(192)
#define LEFT_WALL PIXELS(28)
#define RIGHT_WALL PIXELS(484)
#define MIDDLE PIXELS(256)
#define BODY_WIDTH 32        /* pixels: least distance between the two centres */
#define BODY_HALF 15         /* pixels: half the width of the hurtbox */
#define STAND_HEIGHT 70
#define CROUCH_HEIGHT 46
#define VIEW_WIDTH 320
#define SIDES 2
#define LIES_FOR 26          /* frames on the ground after a knock-down */
#define STANDS_UP_FOR 12
#define GRAVITY 6            /* subpixels per frame, added to vy on each frame in the air */
#define RISING_SPEED_UP 96   /* subpixels per frame, of the rising attack */
#define RISING_SPEED_FORWARD 26
#define STOPS_BLOCKED 4      /* frames of hit stop after a blocked attack */
#define LANDS_FOR 7          /* frames of landing recovery after a jumping attack */
#define SAFE_AFTER 6         /* invulnerable frames after getting up */

enum fighter_state {
    FREE,      /* on the ground, can act */
    RISING_UP, /* start-up of a jump, still on the ground */
    AIR,
    LANDING,   /* recovery after a jumping attack */
    ATTACK,    /* begun on the ground; also the throw, the projectile and the rising attack */
    HIT,
    BLOCK,
    FALLING,   /* knocked down, still in the air */
    LYING,
    STANDING_UP,
    HELD,      /* by the other fighter's throw */
    WON,
};

struct projectile {
    u8 flies;
    u8 age;
    s16 x, y, speed;
};

struct fighter {
    s16 x, y, vx, vy;
    s16 hp;
    u8 character;
    u8 faces_right;
    u8 crouches;
    enum fighter_state state;
    u8 move;          /* the move in progress, or MOVE_NONE */
    u8 frame;         /* frames since the state or the move began */
    u8 has_hit;       /* the move in progress was hit with or blocked */
    u8 stun;          /* frames left of HIT or BLOCK */
    u8 safe;          /* invulnerable frames left after getting up */
    u8 walks;         /* counts walking frames, for the animation */
    struct input input;
    struct projectile projectile;
    u32 landed;
};

/* What a fighter's step needs to know about the other fighter. */
struct target {
    s16 x;
    u8 grabbable;
};

void fighter_place(struct fighter *f, s16 x, u8 faces_right);
/* Advance a fighter by one frame. Its input must have been taken already. */
void fighter_step(struct fighter *f, struct target other);
void fighter_fall(struct fighter *f, s16 speed);
u16 fighter_status(const struct fighter *f);
u8 fighter_actionable(const struct fighter *f);
u8 fighter_grabbable(const struct fighter *f);
/* True on the invulnerable frames of a rising attack. */
u8 fighter_untouchable(const struct fighter *f);
/* True if it would block a hit with these flags on this frame. */
u8 fighter_guards(const struct fighter *f, const struct fighter *other, u8 flags);

static inline const struct character *character_of(const struct fighter *f) { return &characters[f->character]; }
static inline const struct move *move_of(const struct fighter *f) { return &characters[f->character].moves[f->move]; }
static inline s16 pixels(s16 subpixels) { return (s16)(subpixels >> 4); }
static inline s16 distance(s16 a, s16 b) { return (s16)(a < b ? b - a : a - b); }

#endif
