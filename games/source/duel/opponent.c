#include "opponent.h"

#include "choosing.h"
#include "deeds.h"
#include "habits.h"
#include "mind.h"
#include "sight.h"
#include "situations.h"

/* The chance to choose any option instead, out of 256; in the native build, tuning.py sets it. */
#ifndef EXPLORES
#define EXPLORES 0
#endif

#define MOST_MOVEMENT 60 /* pixels: limit on the extrapolated change of the gap */

/* Chances are out of 256. */
struct skill {
    u8 reaction;  /* frames from an event to the first input that can respond to it */
    u8 hesitates; /* chance to pause instead of choosing */
    u8 dawdles;   /* a pause lasts 4 to 3 + dawdles frames */
    u16 answers;  /* chance to respond to what the other fighter begins */
    u16 spacing;  /* chance to extrapolate the gap over the reaction time */
    u16 chooses;  /* chance to draw by weight, not uniformly */
    u8 learns;    /* learning rate: sixteenths of worth per point of damage */
    u8 escapes;   /* chance to resist a throw */
};

static const struct skill skills[LEVELS + 1] = {
    {0},
    /* sees hesit dawdl answers space chooses learns escapes */
    {30, 78, 36,  80, 100,  70, 12,   0},
    {18, 22, 10, 212, 216, 248, 46,  60},
    {15, 21, 10, 214, 218, 248, 48,  90},
    {12, 20,  9, 215, 221, 248, 50, 126},
    {11, 14,  7, 227, 233, 250, 54, 148},
    {10, 10,  6, 233, 240, 253, 58, 168},
    { 9, 10,  6, 236, 244, 252, 64, 188},
    { 6,  5,  5, 244, 246, 253, 68, 206},
    { 4,  0,  3, 256, 256, 256, 70, 236},
    { 2,  0,  3, 256, 256, 256, 62, 244},
};

/* ---- beginnings ---- */

void opponent_seed(u32 seed)
{
    mind_seed(&minds[0], seed ^ 0x7F4A7C15u);
    mind_seed(&minds[1], seed ^ 0x9E3779B9u);
}

void opponent_new_round(void)
{
    for (u8 side = 0; side < SIDES; side++) {
        struct mind *mind = &minds[side];
        clear_plan(mind);
        mind->unanswered = 0;
        mind->beaten = game.victories[1 - side] > 0;
        memset(mind->trail, 0, sizeof mind->trail);
        mind->latest_blow = mind->frame;
    }
}

void opponent_new_match(void)
{
    for (u8 side = 0; side < SIDES; side++) {
        u32 random = minds[side].random;
        memset(&minds[side], 0, sizeof minds[side]);
        minds[side].random = random;
        habits_forget(&minds[side].habits);
    }
}

void opponent_observe(void) { sight_observe(); }

/* ---- noticing ---- */

static u8 attack_begins(const struct seen_fighter *now, const struct seen_fighter *before)
{
    if (now->state != ATTACK || !now->move)
        return 0;
    return before->move != now->move || now->frame < before->frame;
}

/* What the other fighter has begun on this frame: SHOT, JUMP, BLOW. */
static u8 begun(const struct seen_fighter *now, const struct seen_fighter *before)
{
    u8 what = attack_begins(now, before) ? BLOW : 0;
    if (now->state == AIR && before->state != AIR)
        what |= JUMP;
    if (now->projectile_speed && !before->projectile_speed)
        what |= SHOT;
    return what;
}

/* What is still in progress: SHOT, JUMP, BLOW. */
static u8 going_on(const struct seen_fighter *now)
{
    u8 what = now->state == ATTACK ? BLOW : 0;
    if (now->state == AIR)
        what |= JUMP;
    if (now->projectile_speed)
        what |= SHOT;
    return what;
}

/* Discard the plan on being hit, and on blocking unless a button press is planned. */
static void notice_own_state(struct mind *mind, const struct seen_fighter *now, const struct seen_fighter *before)
{
    if (now->state == BLOCK && now->stun > before->stun)
        mind->blocked_ago = 0;
    else if (mind->blocked_ago < 255)
        mind->blocked_ago++;
    u8 was_hit = (now->state == HIT || now->state == FALLING) && before->state != now->state;
    u8 must_guard = mind->blocked_ago == 0 && !mind->committed;
    if (was_hit || must_guard)
        clear_plan(mind);
}

/* Update the state from an observation, and learn from the changes of health in it. */
static OUT_OF_LINE void notice(struct mind *mind, const struct skill *skill, const struct sight *sight)
{
    u8 news = begun(sight->it, sight->it_before);
    mind->frame++;
    learn(mind, (s16)(sight->it_before->hp - sight->it->hp), (u16)(mind->frame - skill->reaction), skill->learns);
    learn(mind, (s16)(sight->me->hp - sight->me_before->hp), mind->frame, skill->learns);
    notice_own_state(mind, sight->me, sight->me_before);
    habits_notice(mind, sight, news);
    if (sight->it->state != AIR)
        mind->jump_seen = 0;
    else if (mind->jump_seen < 100)
        mind->jump_seen++;
    if (sight->it->move == MOVE_THROW)
        news &= (u8)~BLOW; /* too quick for an answer, which would only give up what is planned */
    mind->unanswered = (u8)((mind->unanswered | news) & going_on(sight->it));
}

void opponent_end_round(u8 side, u8 level)
{
    const struct skill *skill = &skills[level];
    struct mind *mind = &minds[side];
    u8 other = (u8)(1 - side);
    mind->frame++;
    s16 before = hp_seen(other, skill->reaction);
    for (u8 ago = skill->reaction; ago > 0; ago--) {
        s16 now = hp_seen(other, (u8)(ago - 1));
        if (now != before)
            learn(mind, (s16)(before - now), (u16)(mind->frame - ago), skill->learns);
        before = now;
    }
    learn(mind, (s16)(hp_seen(side, 0) - hp_seen(side, 1)), mind->frame, skill->learns);
}

/* ---- deciding ---- */

/* True if it cannot act until the state ends. */
static u8 is_busy(u8 state) { return state == ATTACK || state == AIR || state == RISING_UP || state == LANDING || state == HELD; }

static void act(struct mind *mind, const struct skill *skill, const struct view *view, u8 situation)
{
    mind->circumstances = circumstances_of(mind, view);
    u8 tries_any = EXPLORES && happens(mind, EXPLORES);
    u8 by_weight = !tries_any && happens(mind, skill->chooses);
    u8 option = by_weight ? choose_option(mind, situation) : any_option(mind, situation);
    note_choice(mind, situation, option);
    do_deed(mind, view, tactics[situation].deeds[option]);
}

/* On being grabbed: perhaps press what breaks the hold. */
static void resist(struct mind *mind, const struct skill *skill, const struct sight *sight)
{
    u8 is_grabbed = sight->me->state == HELD && sight->me_before->state != HELD;
    if (is_grabbed && happens(mind, skill->escapes)) {
        clear_plan(mind);
        press(mind, FORWARD, PAD_Z);
    }
}

/* Make a plan if something calls for a response, or if the last plan is finished. */
static OUT_OF_LINE void decide(struct mind *mind, const struct skill *skill, struct view *view)
{
    u8 lies = is_down(view->me->state);
    /* what it cannot do anything about would only get the blame for what it has begun itself */
    u8 is_attacking = view->me->state == ATTACK || view->me->state == AIR || view->me->state == RISING_UP;
    if (lies)
        mind->unanswered &= JUMP; /* which may still be in the air when it is up again */
    if (mind->unanswered && !lies && !mind->committed && !is_attacking) {
        u8 situation = situation_of(mind, view, mind->unanswered);
        mind->unanswered = 0;
        if (happens(mind, skill->answers))
            act(mind, skill, view, situation);
    }
    if (has_plan(mind))
        return;
    if (is_busy(view->me->state) && !lands_near(view)) {
        hold(mind, BACK | DOWN, 1);
        return;
    }
    if (happens(mind, skill->hesitates)) {
        clear_plan(mind);
        hold(mind, 0, 4 + below(mind, skill->dawdles));
        return;
    }
    act(mind, skill, view, situation_at_rest(view));
}

/* ---- the pad ---- */

/* The gap after this many frames, if the other fighter keeps approaching by `comes` pixels per frame. */
static s16 expected(s16 gap, s16 comes, s16 frames)
{
    s16 way = (s16)(comes * frames);
    if (way > MOST_MOVEMENT)
        way = MOST_MOVEMENT;
    if (way < -MOST_MOVEMENT)
        way = -MOST_MOVEMENT;
    gap = (s16)(gap - way);
    return gap < BODY_WIDTH ? BODY_WIDTH : gap;
}

/* True if the other fighter is on the right. In the air, its position is extrapolated over the reaction time. */
static u8 is_ahead_right(const struct seen_fighter *me, const struct seen_fighter *it, u8 reaction)
{
    s16 there = it->x;
    if (it->state == AIR)
        there = (s16)(there + it->vx * reaction / SUBPIXELS);
    /* at equal x, facing decides, so that a mirrored match plays out identically */
    return me->x == there ? me->faces_right : me->x < there;
}

static u16 pressed(struct step step, u8 ahead_is_right)
{
    u16 pad = step.buttons;
    if (step.way & FORWARD)
        pad |= ahead_is_right ? PAD_RIGHT : PAD_LEFT;
    if (step.way & BACK)
        pad |= ahead_is_right ? PAD_LEFT : PAD_RIGHT;
    if (step.way & UP)
        pad |= PAD_UP;
    if (step.way & DOWN)
        pad |= PAD_DOWN;
    return pad;
}

static OUT_OF_LINE u16 pad_of(struct mind *mind, const struct skill *skill, const struct sight *sight)
{
    const struct seen_fighter *me = sight->me, *it = sight->it;
    u8 ahead_is_right = is_ahead_right(me, it, skill->reaction);
    s16 comes = (s16)(ahead_is_right ? sight->it_before->x - it->x : it->x - sight->it_before->x);
    s16 gap = distance(it->x, me->x);
    if (happens(mind, skill->spacing))
        gap = expected(gap, comes, skill->reaction);
    notice(mind, skill, sight);

    struct view view = {.me = me, .it = it, .reaction = skill->reaction, .gap = gap};
    if (it->state == FREE)
        view.closing = comes;
    if (me->state == HIT || me->state == BLOCK)
        view.stun = me->stun;
    resist(mind, skill, sight);
    decide(mind, skill, &view);
    return pressed(next_step(mind), ahead_is_right);
}

u16 opponent_pad(u8 side, u8 level)
{
    const struct skill *skill = &skills[level];
    struct sight sight = sight_of(side, skill->reaction);
    return pad_of(&minds[side], skill, &sight);
}
