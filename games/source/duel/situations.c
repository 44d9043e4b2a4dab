#include "situations.h"

#define CLOSE_WITHIN 46   /* pixels: throwing range */
#define A_STEP 10         /* pixels */
#define TWO_STEPS 26
#define MARGIN 8          /* pixels: safety margin for the reach of an attack */
#define NEAR_AFTER_BLOCK 84
#define UNDER_A_JUMP 120  /* pixels: closer than this, a fighter in the air lands nearby */
#define LANDS_SHORT 84    /* pixels in front of me */
#define LANDS_BEHIND 30   /* pixels behind me */
#define ABOUT_TO_FALL 10  /* estimated frames until a falling fighter is on the ground */

/* Frames until a knocked-down fighter is up, if it was seen like this `ago` frames ago. */
static s16 up_in(const struct seen_fighter *f, s16 ago)
{
    switch (f->state) {
    case STANDING_UP:
        return (s16)(STANDS_UP_FOR - f->frame - ago);
    case LYING:
        return (s16)(LIES_FOR + STANDS_UP_FOR - f->frame - ago);
    default:
        return (s16)(ABOUT_TO_FALL + LIES_FOR + STANDS_UP_FOR - ago);
    }
}

static u8 zone_of(const struct seen_fighter *me, s16 gap)
{
    if (gap > OUT_OF_A_JUMP)
        return AFAR;
    if (gap > SAFE_TO_SHOOT)
        return BETWEEN;
    s16 off = (s16)(gap - reach_of(me, MOVE_STANDING + MEDIUM_KICK));
    if (off > TWO_STEPS)
        return TWO_STEPS_OFF;
    if (off > A_STEP)
        return A_STEP_OFF;
    return gap > CLOSE_WITHIN ? AT_REACH : CLOSE;
}

/* The other fighter has begun an attack on the ground. */
static u8 situation_of_attack(struct view *view)
{
    u8 number = view->it->move;
    const struct move *move = move_seen(view->it, number);
    view->passed = (s16)(view->it->frame + view->reaction);
    view->left = (s16)(move_frames(move) - view->passed);
    view->can_hit = (s16)(move->startup + move->active - view->passed);
    if (number == MOVE_PROJECTILE)
        return view->gap > SAFE_TO_SHOOT ? SHOT_FROM_AFAR : SHOT_FROM_NEAR;
    if (number == MOVE_RISING)
        return ROSE;
    if (view->can_hit <= 0)
        return HAS_STRUCK;
    s16 reach = number == MOVE_THROW ? character_seen(view->it)->throw_range : reach_of(view->it, number);
    return view->gap <= reach + MARGIN ? STRUCK_AT : STRIKES_SHORT;
}

/* The other fighter has jumped: the situation depends on where it will land. */
static u8 situation_of_jump(struct view *view, u8 seen_for)
{
    const struct seen_fighter *me = view->me, *it = view->it;
    u16 up = character_seen(it)->jump_up;
    s16 flight = (s16)(u16)((u16)(2 * up) / (u16)GRAVITY);
    s16 speed = it->faces_right ? it->vx : (s16)-it->vx;
    s16 past = (s16)(it->faces_right ? it->x - me->x : me->x - it->x);
    /* how far past me it lands, counted in its direction */
    s16 lands = (s16)(past + pixels((s16)(speed * (flight - seen_for))));
    view->to_landing = (s16)(flight - view->reaction - seen_for);
    if (lands < -LANDS_SHORT)
        return JUMPS_SHORT;
    return lands > LANDS_BEHIND ? JUMPS_OVER : JUMPS_AT;
}

u8 situation_of(const struct mind *mind, struct view *view, u8 begun)
{
    if (begun & JUMP)
        return situation_of_jump(view, mind->jump_seen);
    /* the owner of a projectile may have recovered already */
    u8 is_attacking = view->it->state == ATTACK && view->it->move;
    return is_attacking ? situation_of_attack(view) : SHOT_FROM_AFAR;
}

u8 lands_near(const struct view *view) { return view->me->state == LANDING && view->gap < NEAR_AFTER_BLOCK; }

u8 situation_at_rest(struct view *view)
{
    const struct seen_fighter *me = view->me, *it = view->it;
    if (lands_near(view)) {
        view->stun = (s16)(LANDS_FOR - me->frame);
        return LANDS_NEAR;
    }
    if (me->state == FALLING || me->state == LYING || me->state == STANDING_UP) {
        view->free_in = up_in(me, 0);
        return GETTING_UP;
    }
    if (me->state == HIT)
        return UNDER_FIRE;
    if (me->state == BLOCK)
        return view->gap < NEAR_AFTER_BLOCK ? BLOCKS_NEAR : BLOCKS_AFAR;
    if (is_down(it->state)) {
        view->free_in = (s16)(up_in(it, view->reaction) + SAFE_AFTER);
        return view->gap > SAFE_TO_SHOOT ? LIES_AFAR : LIES_NEAR;
    }
    if ((it->state == AIR || it->state == RISING_UP) && view->gap < UNDER_A_JUMP)
        return IN_THE_AIR;
    return zone_of(me, view->gap);
}
