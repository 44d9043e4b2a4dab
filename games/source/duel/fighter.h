/* One fighter: what it is doing, and how its pad changes that. Who hits whom is decided in rules.c. */
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
#define BODY_WIDTH 32        /* pixels two middles keep apart */
#define BODY_HALF 15         /* pixels from a middle within which it can be hit */
#define STAND_HEIGHT 70
#define CROUCH_HEIGHT 46
#define VIEW_WIDTH 320
#define SIDES 2
#define LIES_FOR 26          /* frames on the ground after a fall */
#define STANDS_UP_FOR 12
#define GRAVITY 6            /* subpixels a frame, of each frame of a flight */
#define RISING_SPEED_UP 96   /* subpixels a frame, of the rising attack */
#define RISING_SPEED_FORWARD 26
#define STOPS_BLOCKED 4      /* frames both stand still after a blow that was blocked */
#define LANDS_FOR 7          /* frames after a jump with an attack in which its owner takes no orders */
#define SAFE_AFTER 6         /* frames after standing up in which nothing hits */

enum fighter_state {
    FREE,      /* on the ground, takes orders */
    RISING_UP, /* the few frames before a jump leaves the ground */
    AIR,
    LANDING,   /* the few frames after a jump with an attack */
    ATTACK,    /* on the ground; also the throw, the projectile and the rising attack */
    HIT,
    BLOCK,
    FALLING,   /* knocked down, still in the air */
    LYING,
    STANDING_UP,
    HELD,      /* in the other's throw */
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
    u8 move;          /* MOVE_NONE unless one is being made */
    u8 frame;         /* frames of the state or of the move that have passed */
    u8 has_hit;       /* the move in progress has met the other fighter */
    u8 stun;          /* frames left of HIT or BLOCK */
    u8 safe;          /* frames left in which nothing hits or grabs: getting up */
    u8 walks;         /* counts walking frames, for the picture */
    struct input input;
    struct projectile projectile;
    u32 landed;
};

/* What a fighter goes by of the other. */
struct target {
    s16 x;
    u8 grabbable;
};

void fighter_place(struct fighter *f, s16 x, u8 faces_right);
/* One frame of a fighter's own doing. Its input has been taken already. */
void fighter_step(struct fighter *f, struct target other);
void fighter_fall(struct fighter *f, s16 speed);
u16 fighter_status(const struct fighter *f);
u8 fighter_actionable(const struct fighter *f);
u8 fighter_grabbable(const struct fighter *f);
/* True on the frames of a rising attack that nothing hits. */
u8 fighter_untouchable(const struct fighter *f);
/* True if it would block a hit with these flags that comes now. */
u8 fighter_guards(const struct fighter *f, const struct fighter *other, u8 flags);

static inline const struct character *character_of(const struct fighter *f) { return &characters[f->character]; }
static inline const struct move *move_of(const struct fighter *f) { return &characters[f->character].moves[f->move]; }
static inline s16 pixels(s16 subpixels) { return (s16)(subpixels >> 4); }
static inline s16 distance(s16 a, s16 b) { return (s16)(a < b ? b - a : a - b); }

#endif
