/* The data of the four fighters. They share NORMALS, which the macro's arguments adjust for each. */
#include "characters.h"
#include "build/art.h"

/* clang-format off */

/* s, d and r are added to start-up, damage and reach. Light attacks are fast and safe; heavy ones are
   long enough to be seen, blocked and punished. The crouching heavy punch is an anti-air, the crouching
   heavy kick a sweep. */
#define NORMALS(s, d, r) \
    {0}, \
    /*  start  act rec  damage   reach  bottom top  hit blk push flags                          poses */ \
    { 4 + (s), 3,  8,   9 + (d), 40 + (r), 40, 60,  13,  9,  40, 0,                              POSE_GUARD,        POSE_JAB }, \
    { 6 + (s), 3, 15,  16 + (d), 44 + (r), 40, 62,  17, 13,  52, 0,                              POSE_PUNCH_BACK,   POSE_STRAIGHT }, \
    { 9 + (s), 4, 24,  23 + (d), 48 + (r), 40, 64,  21, 16,  68, 0,                              POSE_PUNCH_BACK,   POSE_HEAVY_PUNCH }, \
    { 5 + (s), 3, 10,   9 + (d), 44 + (r),  8, 40,  13,  9,  42, 0,                              POSE_KNEE,         POSE_SHIN_KICK }, \
    { 7 + (s), 4, 16,  17 + (d), 50 + (r), 24, 58,  17, 13,  54, 0,                              POSE_KNEE,         POSE_SIDE_KICK }, \
    {10 + (s), 4, 28,  24 + (d), 55 + (r), 36, 72,  22, 16,  70, 0,                              POSE_KNEE,         POSE_HIGH_KICK }, \
    { 4 + (s), 3,  8,   8 + (d), 38 + (r), 22, 44,  12,  9,  40, 0,                              POSE_CROUCH,       POSE_LOW_JAB }, \
    { 6 + (s), 3, 15,  13 + (d), 42 + (r), 22, 46,  16, 12,  50, 0,                              POSE_CROUCH,       POSE_LOW_JAB }, \
    { 5 + (s), 6, 26,  20 + (d), 38 + (r), 30, 100,  20, 12,  44, 0,                              POSE_CROUCH,       POSE_UPPERCUT }, \
    { 5 + (s), 3, 10,   8 + (d), 42 + (r),  0, 16,  12,  9,  40, HIT_LOW,                        POSE_CROUCH,       POSE_LOW_KICK }, \
    { 7 + (s), 3, 17,  13 + (d), 48 + (r),  0, 18,  16, 12,  50, HIT_LOW,                        POSE_CROUCH,       POSE_LOW_KICK }, \
    { 9 + (s), 4, 27,  19 + (d), 53 + (r),  0, 18,  20, 15,  48, HIT_LOW | HIT_KNOCKS_DOWN,      POSE_CROUCH,       POSE_SWEEP }, \
    { 4,      16,  4,  11 + (d), 34 + (r), 10, 50,  14, 10,  40, HIT_HIGH | HIT_IN_AIR,          POSE_JUMP,         POSE_JUMP_PUNCH }, \
    { 5,      12,  4,  16 + (d), 36 + (r),  8, 50,  16, 12,  46, HIT_HIGH | HIT_IN_AIR,          POSE_JUMP,         POSE_JUMP_PUNCH }, \
    { 6,       9,  4,  20 + (d), 38 + (r),  4, 50,  20, 14,  56, HIT_HIGH | HIT_IN_AIR,          POSE_JUMP,         POSE_JUMP_PUNCH }, \
    { 4,      16,  4,  11 + (d), 36 + (r),  0, 40,  14, 10,  40, HIT_HIGH | HIT_IN_AIR,          POSE_JUMP,         POSE_JUMP_KICK }, \
    { 5,      12,  4,  16 + (d), 40 + (r),  0, 40,  16, 12,  46, HIT_HIGH | HIT_IN_AIR,          POSE_JUMP,         POSE_JUMP_KICK }, \
    { 6,       9,  4,  19 + (d), 44 + (r),  0, 40,  20, 14,  56, HIT_HIGH | HIT_IN_AIR,          POSE_JUMP,         POSE_JUMP_KICK }

/* The frames are those of the whole throw. Its reach is the character's throw_range. */
#define THROW(damage) {2, 1, 36, damage, 0, 0, 0, 0, 0, 0, HIT_KNOCKS_DOWN, POSE_GRAB, POSE_THROW}
/* startup: frames before the projectile is released. Damage and stun are the projectile's. */
#define PROJECTILE(startup, recovery, damage) \
    {startup, 1, recovery, damage, 0, 36, 56, 19, 15, 56, HIT_CHIPS, POSE_CAST_BACK, POSE_CAST}
/* Invulnerable for the first RISING_SAFE frames only. */
#define RISING(startup, active, recovery, damage, reach) \
    {startup, active, recovery, damage, reach, 10, 84, 24, 18, 60, HIT_KNOCKS_DOWN | HIT_CHIPS, POSE_CROUCH, POSE_RISE}

const struct character characters[CHARACTERS] = {
    [KAZE] = {"KAZE", 34, 27, 46, 118, 56, 44, 64, {NORMALS(0, 0, 1), THROW(24), PROJECTILE(13, 38, 13), RISING(3, 12, 38, 16, 34)}},
    [BRON] = {"BRON", 28, 22, 40, 114, 48, 50, 66, {NORMALS(1, 1, 2), THROW(28), PROJECTILE(16, 40, 13), RISING(4, 10, 40, 17, 38)}},
    [MIRA] = {"MIRA", 42, 34, 54, 122, 60, 42, 69, {NORMALS(0, 1, 0), THROW(24), PROJECTILE(12, 38, 12), RISING(3, 12, 36, 20, 34)}},
    [TARN] = {"TARN", 31, 26, 44, 116, 68, 44, 72, {NORMALS(1, 0, 5), THROW(23), PROJECTILE(14, 36, 13), RISING(4, 12, 40, 16, 38)}},
};
