/* The four fighters as data: movement and frame data. */
#ifndef CHARACTERS_H
#define CHARACTERS_H

#include "console.h"

enum { KAZE, BRON, MIRA, TARN, CHARACTERS };

/* Positions and speeds are in sixteenths of a pixel. */
#define SUBPIXELS 16
#define PIXELS(n) ((n) * SUBPIXELS)

/* The six attack buttons; a move's number is the first move of its posture plus the button. */
enum { LIGHT_PUNCH, MEDIUM_PUNCH, HEAVY_PUNCH, LIGHT_KICK, MEDIUM_KICK, HEAVY_KICK, BUTTONS };

enum {
    MOVE_NONE,
    MOVE_STANDING,                         /* 1..6 */
    MOVE_CROUCHING = MOVE_STANDING + BUTTONS,  /* 7..12 */
    MOVE_JUMPING = MOVE_CROUCHING + BUTTONS,   /* 13..18 */
    MOVE_THROW = MOVE_JUMPING + BUTTONS,       /* 19 */
    MOVE_PROJECTILE,                       /* 20 */
    MOVE_RISING,                           /* 21 */
    MOVES
};

enum {
    HIT_LOW = 1,        /* must be blocked crouching */
    HIT_HIGH = 2,       /* must be blocked standing */
    HIT_KNOCKS_DOWN = 4,
    HIT_CHIPS = 8,      /* deals a quarter of its damage when blocked */
    HIT_IN_AIR = 16,    /* made in the air; ends on landing */
};

struct move {
    u8 startup;     /* frames before it can hit */
    u8 active;      /* frames in which it can hit */
    u8 recovery;    /* frames after that until its owner can act */
    u8 damage;
    u8 reach;       /* pixels in front of its owner's centre */
    u8 bottom, top; /* vertical range of the hitbox, pixels above its owner's feet */
    u8 hit_stun, block_stun;
    u8 push;        /* initial speed of the push-back, subpixels per frame */
    u8 flags;
    u8 windup_pose, strike_pose;
};

struct character {
    const char *name;
    u8 walk_forward, walk_back;
    u8 jump_sideways;
    u8 jump_up;
    u8 projectile_speed;
    u8 throw_range;  /* pixels between the two centres */
    u8 weight;       /* damage taken, in 64ths */
    struct move moves[MOVES];
};

extern const struct character characters[CHARACTERS];

static inline u8 move_frames(const struct move *move) { return (u8)(move->startup + move->active + move->recovery); }

#endif
