#include "deeds.h"

#define BLOCK_PUSHES 9       /* pixels: approximate push-back of a blocked heavy attack */
#define RISING_INPUT 4       /* frames from the first direction of its motion to the button */
#define RISING_FLIES (2 * RISING_SPEED_UP / GRAVITY) /* frames in the air */
#define ANY_STARTUP 99       /* longer than the start-up of any attack */
#define HELD_AHEAD 30        /* pixels in front of its owner at which a projectile appears */
#define JUMP_BEFORE 26       /* frames before its arrival at which to jump over a projectile */

#define UNUSED __attribute__((unused))

/* ---- inputs ---- */

static void add_projectile(struct mind *mind)
{
    static const u16 punches[] = {PAD_X, PAD_Y, PAD_Z};
    add(mind, DOWN, 0, 3);
    add(mind, DOWN | FORWARD, 0, 3);
    press(mind, FORWARD, punches[below(mind, 3)]);
    add(mind, 0, 0, 8);
}

static void add_rising(struct mind *mind)
{
    add(mind, FORWARD, 0, 2);
    add(mind, DOWN, 0, 2);
    press(mind, DOWN | FORWARD, PAD_Z);
    add(mind, BACK | DOWN, 0, 8);
}

/* Frames in which `speed`, in subpixels per frame, covers `way` pixels. In unsigned words, because the
   68000 divides those itself, while a signed division would call a function. */
static s16 frames_for(s16 way, u16 speed)
{
    u16 subpixels = way > 0 ? (u16)(way * SUBPIXELS) : 0;
    return (s16)(u16)(subpixels / speed);
}

/* ---- attacks ---- */

struct option {
    u8 move, way;
    u16 button;
};

/* Attacks that punish a recovery, the best first. */
static const struct option punishers[] = {
    {MOVE_CROUCHING + HEAVY_KICK, DOWN, PAD_C},
    {MOVE_STANDING + HEAVY_KICK, 0, PAD_C},
    {MOVE_STANDING + HEAVY_PUNCH, 0, PAD_Z},
    {MOVE_STANDING + MEDIUM_KICK, 0, PAD_B},
    {MOVE_CROUCHING + MEDIUM_KICK, DOWN, PAD_B},
    {MOVE_STANDING + LIGHT_KICK, 0, PAD_A},
    {MOVE_STANDING + LIGHT_PUNCH, 0, PAD_X},
};
#define PUNISHERS (sizeof punishers / sizeof *punishers)

/* Attacks with a long reach. */
static const struct option pokes[] = {
    {MOVE_STANDING + MEDIUM_KICK, 0, PAD_B},
    {MOVE_CROUCHING + MEDIUM_KICK, DOWN, PAD_B},
    {MOVE_CROUCHING + HEAVY_KICK, DOWN, PAD_C},
    {MOVE_STANDING + HEAVY_KICK, 0, PAD_C},
};
#define POKES (sizeof pokes / sizeof *pokes)

/* Append the best punish that is fast enough and in reach to the plan; false if there is none. */
static u8 punish(struct mind *mind, const struct seen_fighter *me, s16 gap, s16 frames)
{
    for (u8 i = 0; i < PUNISHERS; i++) {
        const struct option *o = &punishers[i];
        if (move_seen(me, o->move)->startup < frames && gap <= reach_of(me, o->move) - 2) {
            press(mind, o->way, o->button);
            return 1;
        }
    }
    return 0;
}

/* ---- deeds ---- */

/* Hit back as soon as the stun ends, with the strongest attack that reaches after the push-back. */
static void strike_back(struct mind *mind, const struct view *view)
{
    s16 slides = (s16)((view->me->vx * view->me->vx) >> 7);
    s16 gap = (s16)(view->gap + slides);
    if (gap > reach_of(view->me, MOVE_STANDING + HEAVY_KICK)) {
        hold(mind, BACK | DOWN, view->stun);
        hold(mind, FORWARD, 5);
        press(mind, DOWN, PAD_C);
        return;
    }
    hold(mind, BACK | DOWN, view->stun - 2);
    punish(mind, view->me, gap, ANY_STARTUP);
}

static void add_leap(struct mind *mind, u8 flies)
{
    static const u16 attacks[] = {PAD_C, PAD_B, PAD_Z, PAD_C};
    add(mind, UP | FORWARD, 0, 5);
    add(mind, 0, 0, flies);
    press(mind, 0, attacks[below(mind, 4)]);
    add(mind, BACK | DOWN, 0, 6);
}

/* Attack in the middle of the jump: early, but the other fighter can act before the landing. */
static void leap(struct mind *mind, UNUSED const struct view *view)
{
    add_leap(mind, (u8)(20 + below(mind, 6)));
}

/* Attack at the end of the jump: the other fighter is in hit or block stun until the landing. */
static void leap_late(struct mind *mind, UNUSED const struct view *view)
{
    add_leap(mind, (u8)(26 + below(mind, 6)));
}

/* Walk to throwing range, and throw. Out of range, the same buttons are an attack: if the way takes more than
   `most` frames, only walk, and block. */
static void walk_and_throw(struct mind *mind, const struct view *view, s16 most)
{
    const struct character *c = character_seen(view->me);
    s16 walk = frames_for((s16)(view->gap - c->throw_range + 6), c->walk_forward);
    if (walk > most) {
        hold(mind, FORWARD, most);
        hold(mind, BACK | DOWN, 4);
        return;
    }
    hold(mind, FORWARD, walk);
    press(mind, FORWARD, below(mind, 2) ? PAD_Z : PAD_C);
}

static void string(struct mind *mind, UNUSED const struct view *view)
{
    for (u8 i = 0; i < 2; i++) {
        press(mind, DOWN, PAD_A);
        add(mind, DOWN, 0, 9);
    }
    press(mind, DOWN, PAD_C);
}

static void poke(struct mind *mind, const struct view *view)
{
    const struct option *o = &pokes[below(mind, POKES)];
    s16 off = (s16)(view->gap - reach_of(view->me, o->move) + 2);
    if (off > 12) {
        hold(mind, FORWARD, 4);
        hold(mind, BACK | DOWN, 4);
        return;
    }
    hold(mind, FORWARD, off > 0 ? 3 : 0);
    press(mind, o->way, o->button);
}

/* The other fighter walks in: begin the attack that will hit it at full reach. */
static void meet(struct mind *mind, const struct view *view)
{
    for (u8 i = 0; view->closing > 0 && i < POKES; i++) {
        const struct option *o = &pokes[i];
        s16 begins_in = (s16)(move_seen(view->me, o->move)->startup + 2);
        s16 then = (s16)(view->gap - view->closing * begins_in);
        s16 reach = reach_of(view->me, o->move);
        if (then <= reach - 2 && then > reach - 12) {
            press(mind, o->way, o->button);
            return;
        }
    }
    hold(mind, BACK | DOWN, 5);
}

/* Against a rising attack: block, walk to where it lands, and hit during its recovery. */
static void punish_rising(struct mind *mind, const struct view *view)
{
    const struct character *c = character_seen(view->me);
    const struct move *move = move_seen(view->it, MOVE_RISING);
    s16 in_the_air = (s16)(move->startup + RISING_FLIES - view->passed);
    s16 carried = (s16)(view->it->frame < move->startup ? RISING_FLIES : move->startup + RISING_FLIES - view->it->frame);
    s16 gap = (s16)(view->gap - ((carried * RISING_SPEED_FORWARD) >> 4));
    if (gap < BODY_WIDTH)
        gap = BODY_WIDTH;

    s16 walk = 0;
    if (gap > 60)
        walk = frames_for((s16)(gap - 60), c->walk_forward);
    if (walk > 14)
        walk = 14;

    s16 wait = (s16)(in_the_air - move_seen(view->me, MOVE_STANDING + HEAVY_KICK)->startup - walk + 2);
    if (wait < view->stun)
        wait = view->stun;
    hold(mind, BACK | DOWN, wait);
    hold(mind, FORWARD, walk);
    press(mind, 0, PAD_C);
}

/* Block until an attack is over, then hit during its recovery. */
static void guard_and_punish(struct mind *mind, const struct view *view)
{
    const struct move *move = move_seen(view->it, view->it->move);
    if (view->it->move == MOVE_RISING) {
        punish_rising(mind, view);
        return;
    }
    s16 over = (s16)(view->can_hit + 3);
    s16 free_again = (s16)(move->startup + STOPS_BLOCKED + move->block_stun - 1 - view->passed);
    s16 advantage = (s16)(move->active + move->recovery - move->block_stun);
    u8 sweeps = advantage > 10;
    u8 kick = MOVE_CROUCHING + (sweeps ? HEAVY_KICK : MEDIUM_KICK);
    u8 answers = advantage > 6 && view->gap + BLOCK_PUSHES <= reach_of(view->me, kick) - 2;
    if (over < free_again && answers)
        over = free_again;
    hold(mind, move->flags & HIT_HIGH ? BACK : BACK | DOWN, over > 0 ? over : 1);
    if (answers)
        press(mind, DOWN, sweeps ? PAD_C : PAD_B);
}

/* Hit during the recovery of an attack that was blocked or has missed. */
static void punish_now(struct mind *mind, const struct view *view)
{
    const struct move *move = move_seen(view->it, view->it->move);
    s16 ago = (s16)(view->passed - move->startup);
    s16 gap = view->gap;
    s16 left = view->left;
    s16 wait = 0;
    if (mind->blocked_ago <= ago + 2) {
        wait = view->stun;
        gap = (s16)(gap + BLOCK_PUSHES);
        left = (s16)(left + STOPS_BLOCKED - wait);
    }
    hold(mind, BACK | DOWN, wait - 1);
    if (punish(mind, view->me, gap, left))
        return;
    s16 step = (s16)(character_seen(view->me)->walk_forward / SUBPIXELS);
    if (left > 14 && gap - 6 * step < reach_of(view->me, MOVE_CROUCHING + HEAVY_KICK) - 4) {
        hold(mind, FORWARD, 6);
        press(mind, DOWN, PAD_C);
    } else {
        hold(mind, BACK | DOWN, 8);
    }
}

/* Frames until a projectile arrives, standing or walking towards it. */
static s16 arrives_in(const struct view *view, u8 walks)
{
    u16 mine = walks ? character_seen(view->me)->walk_forward : 0;
    s16 flies = view->it->projectile_speed;
    if (flies == 0) { /* not released yet */
        u16 speed = character_seen(view->it)->projectile_speed;
        s16 wait = (s16)(move_seen(view->it, MOVE_PROJECTILE)->startup - view->it->frame - view->reaction);
        s16 from = (s16)(distance(view->it->x, view->me->x) - HELD_AHEAD - BODY_HALF);
        return (s16)(wait + frames_for(from, (u16)(speed + mine)));
    }
    u16 speed = (u16)(flies < 0 ? -flies : flies);
    s16 from = (s16)(distance(view->it->projectile_x, view->me->x) - BODY_HALF);
    u16 flown = (u16)(speed * (u16)view->reaction);
    u16 together = (u16)(speed + mine);
    return (s16)(frames_for(from, together) - (s16)(u16)(flown / together));
}

static void receive_shot(struct mind *mind, const struct view *view, u8 walks)
{
    s16 arrives = arrives_in(view, walks);
    u8 guard = (u8)(arrives > 8 ? 20 : arrives > -8 ? arrives + 12 : 1);
    hold(mind, walks ? FORWARD : BACK | DOWN, arrives > 8 ? arrives - 7 : 0);
    hold(mind, BACK | DOWN, guard);
    if (walks)
        hold(mind, FORWARD, 6);
}

/* Jump over a projectile; block if it is too late for that. */
static void jump_shot(struct mind *mind, const struct view *view)
{
    s16 wait = (s16)(arrives_in(view, 0) - JUMP_BEFORE);
    if (wait < -4) {
        receive_shot(mind, view, 0);
        return;
    }
    hold(mind, BACK | DOWN, wait);
    add(mind, UP | FORWARD, 0, 6);
    add(mind, 0, 0, 18);
    press(mind, 0, PAD_C);
}

/* Go to where a sweep just reaches the fighter that gets up, out of its throwing range; then sweep. */
static void sweep_again(struct mind *mind, const struct view *view)
{
    const struct character *c = character_seen(view->me);
    s16 begin_in = (s16)(view->free_in - move_seen(view->me, MOVE_CROUCHING + HEAVY_KICK)->startup);
    s16 off = (s16)(view->gap - reach_of(view->me, MOVE_CROUCHING + HEAVY_KICK) + 12);
    s16 walk = 0;
    if (off > 3)
        walk = frames_for(off, c->walk_forward);
    else if (off < -6)
        walk = frames_for((s16)-off, c->walk_back);
    if (walk > begin_in && begin_in > 0)
        walk = begin_in;
    hold(mind, off > 0 ? FORWARD : BACK, walk > 40 ? 40 : walk);
    if (begin_in < -4 || walk > begin_in + 4)
        return;
    hold(mind, BACK | DOWN, begin_in - walk);
    press(mind, DOWN, PAD_C);
}

/* Stay just out of reach and block, so that attacks miss. */
static void hover(struct mind *mind, const struct view *view)
{
    const struct character *c = character_seen(view->me);
    s16 off = (s16)(view->gap - reach_of(view->it, MOVE_STANDING + HEAVY_KICK) - 5);
    s16 walk = 0;
    if (off > 2)
        walk = frames_for(off, c->walk_forward);
    else if (off < -2)
        walk = frames_for((s16)-off, c->walk_back);
    hold(mind, off > 0 ? FORWARD : BACK, walk > 10 ? 10 : walk);
    hold(mind, BACK | DOWN, 4 + below(mind, 5));
}

/* Go within reach of the fighter that gets up, and block for a while. */
static void stand_by(struct mind *mind, const struct view *view)
{
    s16 walk = frames_for((s16)(view->gap - 66), character_seen(view->me)->walk_forward);
    hold(mind, FORWARD, walk > 16 ? 16 : walk);
    hold(mind, BACK | DOWN, 10);
}

/* Block crouching for a while. */
static void stay_low(struct mind *mind, UNUSED const struct view *view)
{
    hold(mind, BACK | DOWN, 6 + below(mind, 12));
}

/* Block standing, until a jump is over. */
static void stay_high(struct mind *mind, const struct view *view)
{
    hold(mind, BACK, view->to_landing > 0 ? view->to_landing + 6 : 6 + below(mind, 8));
}

static void walk_in(struct mind *mind, const struct view *view)
{
    hold(mind, FORWARD, view->gap > OUT_OF_A_JUMP ? 8 + below(mind, 14) : 4 + below(mind, 8));
}

/* Walk in a little, then block. */
static void creep_in(struct mind *mind, UNUSED const struct view *view)
{
    hold(mind, FORWARD, 3 + below(mind, 4));
    hold(mind, BACK | DOWN, 6 + below(mind, 10));
}

static void walk_out(struct mind *mind, UNUSED const struct view *view)
{
    hold(mind, BACK, 8 + below(mind, 8));
}

/* Step into reach and back out, to draw an attack. */
static void bait(struct mind *mind, UNUSED const struct view *view)
{
    hold(mind, FORWARD, 3 + below(mind, 4));
    hold(mind, BACK, 8 + below(mind, 6));
    hold(mind, BACK | DOWN, 8);
}

/* Jump back. */
static void hop_out(struct mind *mind, UNUSED const struct view *view)
{
    add(mind, UP | BACK, 0, 5);
    add(mind, 0, 0, 30);
}

/* Jump up with a kick. */
static void hop_up(struct mind *mind, UNUSED const struct view *view)
{
    add(mind, UP, 0, 5);
    hold(mind, 0, 8 + below(mind, 12));
    press(mind, 0, PAD_C);
}

static void light(struct mind *mind, UNUSED const struct view *view)
{
    press(mind, DOWN, PAD_A);
}

/* Attack if the other fighter will be in reach, or else block. */
static void strike(struct mind *mind, const struct view *view, u8 number, u8 way, u16 button)
{
    s16 then = (s16)(view->gap - view->closing * move_seen(view->me, number)->startup);
    if (then <= reach_of(view->me, number) - 2)
        press(mind, way, button);
    else
        hold(mind, BACK | DOWN, 4);
}

static void sweep(struct mind *mind, const struct view *view)
{
    strike(mind, view, MOVE_CROUCHING + HEAVY_KICK, DOWN, PAD_C);
}

static void kick_high(struct mind *mind, const struct view *view)
{
    strike(mind, view, MOVE_STANDING + HEAVY_KICK, 0, PAD_C);
}

static void uppercut(struct mind *mind, UNUSED const struct view *view)
{
    press(mind, DOWN, PAD_Z);
}

static void grab(struct mind *mind, const struct view *view)
{
    walk_and_throw(mind, view, 5);
}

static void walk_and_grab(struct mind *mind, const struct view *view)
{
    walk_and_throw(mind, view, 26);
}

static void rise(struct mind *mind, UNUSED const struct view *view)
{
    add_rising(mind);
}

static void shoot(struct mind *mind, UNUSED const struct view *view)
{
    add_projectile(mind);
}

/* Time the active frames for the end of the jump. */
static void uppercut_landing(struct mind *mind, const struct view *view)
{
    hold(mind, BACK, view->to_landing - 17);
    press(mind, DOWN, PAD_Z);
}

static void sweep_landing(struct mind *mind, const struct view *view)
{
    hold(mind, BACK, view->to_landing - 8);
    press(mind, DOWN, PAD_C);
}

static void rise_at_landing(struct mind *mind, const struct view *view)
{
    hold(mind, BACK, view->to_landing - 12);
    add_rising(mind);
}

static void walk_under(struct mind *mind, const struct view *view)
{
    hold(mind, FORWARD, view->to_landing > 2 ? view->to_landing : 2);
    hold(mind, BACK | DOWN, 8);
}

static void meet_shot(struct mind *mind, const struct view *view)
{
    receive_shot(mind, view, 1);
}

static void guard_shot(struct mind *mind, const struct view *view)
{
    receive_shot(mind, view, 0);
}

static void light_back(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->stun - 2);
    press(mind, DOWN, PAD_A);
}

static void grab_back(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->stun);
    press(mind, FORWARD, PAD_Z);
}

static void rise_back(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->stun - RISING_INPUT);
    add_rising(mind);
}

static void hop_back(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->stun);
    add(mind, UP | BACK, 0, 5);
    add(mind, 0, 0, 30);
}

static void leap_back(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->stun);
    leap(mind, view);
}

static void walk_back_in(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->stun);
    hold(mind, FORWARD, 6 + below(mind, 8));
}

static void guard_on(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->stun + 6 + below(mind, 8));
}

static void rise_getting_up(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->free_in - RISING_INPUT);
    add_rising(mind);
}

static void guard_getting_up(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->free_in + 8);
}

static void grab_getting_up(struct mind *mind, const struct view *view)
{
    hold(mind, BACK | DOWN, view->free_in);
    press(mind, FORWARD, PAD_Z);
}

typedef void doer(struct mind *mind, const struct view *view);

static doer *const doers[DEEDS] = {
    [STAY_LOW] = stay_low,
    [STAY_HIGH] = stay_high,
    [WALK_IN] = walk_in,
    [CREEP_IN] = creep_in,
    [WALK_OUT] = walk_out,
    [BAIT] = bait,
    [HOVER] = hover,
    [HOP_OUT] = hop_out,
    [HOP_UP] = hop_up,
    [LEAP] = leap,
    [LEAP_LATE] = leap_late,
    [POKE] = poke,
    [LIGHT] = light,
    [SWEEP] = sweep,
    [KICK_HIGH] = kick_high,
    [UPPERCUT] = uppercut,
    [MEET] = meet,
    [GRAB] = grab,
    [WALK_AND_GRAB] = walk_and_grab,
    [STRING] = string,
    [RISE] = rise,
    [SHOOT] = shoot,
    [UPPERCUT_LANDING] = uppercut_landing,
    [SWEEP_LANDING] = sweep_landing,
    [RISE_AT_LANDING] = rise_at_landing,
    [WALK_UNDER] = walk_under,
    [GUARD_AND_PUNISH] = guard_and_punish,
    [PUNISH] = punish_now,
    [MEET_SHOT] = meet_shot,
    [GUARD_SHOT] = guard_shot,
    [JUMP_SHOT] = jump_shot,
    [SWEEP_AGAIN] = sweep_again,
    [STAND_BY] = stand_by,
    [SWEEP_BACK] = strike_back,
    [LIGHT_BACK] = light_back,
    [GRAB_BACK] = grab_back,
    [RISE_BACK] = rise_back,
    [HOP_BACK] = hop_back,
    [LEAP_BACK] = leap_back,
    [WALK_BACK_IN] = walk_back_in,
    [GUARD_ON] = guard_on,
    [RISE_GETTING_UP] = rise_getting_up,
    [GUARD_GETTING_UP] = guard_getting_up,
    [GRAB_GETTING_UP] = grab_getting_up,
};

void do_deed(struct mind *mind, const struct view *view, u8 deed)
{
    clear_plan(mind);
    doers[deed](mind, view);
    if (!has_plan(mind))
        hold(mind, BACK | DOWN, 4);
}
