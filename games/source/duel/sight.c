#include "sight.h"

#define RING 64 /* observations kept; a power of two, more than the longest reaction time */

struct observation {
    struct seen_fighter fighters[SIDES];
};

static struct observation ring[RING];
static u8 newest;

_Static_assert(INTRO_FRAMES >= RING, "the intro must be long enough to replace all observations in the ring");

/* Whole pixels right of the stage's centre, rounded symmetrically, so that neither side has an advantage. */
static s16 from_middle(s16 x)
{
    if (x < MIDDLE)
        return (s16)-pixels((s16)(MIDDLE - x));
    return pixels((s16)(x - MIDDLE));
}

static void look_at(struct seen_fighter *seen, const struct fighter *f)
{
    seen->x = from_middle(f->x);
    seen->y = pixels((s16)(GROUND - f->y));
    seen->vx = f->vx;
    seen->projectile_x = from_middle(f->projectile.x);
    seen->projectile_speed = f->projectile.flies ? f->projectile.speed : 0;
    seen->hp = f->hp;
    seen->state = (u8)f->state;
    seen->move = f->move;
    seen->frame = f->frame;
    seen->stun = f->stun;
    seen->faces_right = f->faces_right;
    seen->character = f->character;
}

void sight_observe(void)
{
    newest = (u8)((newest + 1) & (RING - 1));
    for (u8 side = 0; side < SIDES; side++)
        look_at(&ring[newest].fighters[side], &game.fighters[side]);
}

static const struct observation *so_long_ago(u8 frames) { return &ring[(newest - frames) & (RING - 1)]; }

s16 hp_seen(u8 side, u8 ago) { return so_long_ago(ago)->fighters[side].hp; }

struct sight sight_of(u8 side, u8 reaction)
{
    u8 other = (u8)(1 - side);
    return (struct sight){
        .me = &so_long_ago(0)->fighters[side],
        .me_before = &so_long_ago(1)->fighters[side],
        /* the newest observation is already one frame old */
        .it = &so_long_ago((u8)(reaction - 1))->fighters[other],
        .it_before = &so_long_ago(reaction)->fighters[other],
    };
}
