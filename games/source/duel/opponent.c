#include "opponent.h"

#define RING 64              /* observations kept; a power of two, more than the longest reaction */
#define STEPS 10             /* of a plan */
#define BLOCK_STOPS 4        /* frames for which a blocked blow stops both */

#define PASSED (-4)          /* frames: a projectile that should have been here by then has been met or has missed */
#define JUMP_IN_TAKES 30     /* frames until its kick can hit */
#define OFTEN 100            /* a habit above this is counted on */
#define MOSTLY 150           /* most of what the other does is such */
#define OUT_OF_A_JUMP 150    /* pixels */
#define SAFE_TO_SHOOT 112    /* pixels: from nearer, who walks in is there before the shot's owner can move again */
#define GRABBED_WITHIN 46    /* pixels */
#define LONG 35              /* frames: a move of so many is over so late that it can be answered after being blocked */
#define RISING_INPUT 4       /* frames from its first direction to its button */
#define RISING_CARRIES 12    /* pixels that a rising attack goes forward while it hits */
#define TOO_LATE 4           /* frames: who gets up and strikes at once is quicker */
#define BLOCK_PUSHES 9       /* pixels, about: how far a blocked heavy blow sends back */

/* Handed a pointer, the compiler keeps it; within the caller it would find minds[side] anew at every step. */
#define OUT_OF_LINE __attribute__((noinline))

enum { SHOT = 1, JUMP = 2, BLOW = 4 };

/* Directions of a plan are relative to where the fighter faces. */
enum { FORWARD = 1, BACK = 2, UP = 4, DOWN = 8 };

struct seen_fighter {
    s16 x, y;
    s16 vx;                             /* of a flight, in subpixels */
    s16 projectile_x, projectile_speed; /* speed 0: none flies */
    u8 state, move, frame, faces_right, character;
};

struct seen {
    struct seen_fighter fighters[SIDES];
};

struct step {
    u8 way;
    u8 frames;
    u16 buttons;
};

struct mind {
    u32 random;
    struct step plan[STEPS];
    u8 steps, at, left;
    u8 committed;       /* the plan presses something: nothing that is seen changes it */
    u8 unanswered;      /* what has begun and was not answered yet: SHOT, JUMP, BLOW */
    u8 jump_seen;       /* frames for which the jump has been seen */
    s16 walked[RING];   /* its way ahead until each of the latest frames, in subpixels, from the pads it gave itself; it wraps: only differences count */
    u8 held[RING];      /* the ways it held in the latest frames */
    u8 aggression;      /* how often the other attacks, 0..255 */
    u8 shooting;        /* how often the other throws projectiles */
    u8 jumping;         /* how often it jumps */
    u8 guarding;        /* how often it guards what would hit it */
    u8 meeting;         /* how often it hits me out of the air */
    u8 swinging;        /* how often its blows are long ones */
    u8 uppercutting;    /* how often its attacks are rising ones */
    u8 grabbing;        /* how often it throws, of what it does from near */
};

/* Chances are out of 256. Levels are ordered by who wins, not by each of these numbers. */
struct skill {
    u8 reaction;   /* frames between what happens and what the pad can make of it */
    u8 hesitates;  /* does nothing for a while instead of choosing */
    u8 dawdles;    /* longest such while, frames */
    u16 blocks;    /* guards against an attack it has seen begin, or expects */
    u16 punishes;  /* hits into a recovery it has seen coming */
    u16 anti_air;  /* meets a jump with a blow */
    u16 spacing;   /* allows for both fighters' movement since what it sees; pokes from where it can reach */
    u16 mixes;     /* chooses by the situation and the other's habits, not at random */
};

static const struct skill skills[LEVELS + 1] = {
    {0},
    /* sees  hesit dawdl  block  punish  air  space  mix */
    {30, 78, 36, 120,  90,  80, 100,  70},
    {27, 28, 16, 190, 210, 140, 190, 180},
    {25, 30, 17, 192, 202, 158, 202, 186},
    {22, 16, 12, 212, 213, 194, 217, 198},
    {17, 15, 12, 228, 222, 216, 232, 224},
    {15,  4,  8, 240, 240, 234, 246, 244},
    { 9,  0,  4, 250, 252, 248, 255, 254},
    { 7,  0,  3, 254, 254, 250, 256, 256},
};

static struct seen ring[RING];
static u8 newest;
static struct mind minds[SIDES];

/* ---- chance ---- */

static u32 draw(struct mind *m)
{
    u32 x = m->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return m->random = x;
}

static u8 happens(struct mind *m, u16 chance) { return (u16)(draw(m) >> 8 & 255) < chance; }

/* A chance, the better for what the other does often: it is expected. */
static u16 surer(u16 chance, u8 habit) { return (u16)(chance + (((256 - chance) * habit) >> 8)); }

/* A number from 0 to below `limit`, which is at most 256. */
static u8 below(struct mind *m, u16 limit) { return (u8)(((u16)(draw(m) >> 8 & 255) * limit) >> 8); }

void opponent_seed(u32 seed)
{
    for (u8 side = 0; side < SIDES; side++) {
        u32 x = seed ^ (side ? 0x9E3779B9u : 0x7F4A7C15u);
        /* neighbouring seeds must not give neighbouring streams */
        x ^= x >> 16;
        x *= 0x7FEB352Du;
        x ^= x >> 15;
        x *= 0x846CA68Bu;
        x ^= x >> 16;
        minds[side].random = x ? x : 1;
    }
}

/* ---- looking ---- */

/* Whole pixels right of the stage's middle, rounded alike to either side: nobody sees better for standing left. */
static s16 from_middle(s16 x) { return x < MIDDLE ? (s16)-pixels((s16)(MIDDLE - x)) : pixels((s16)(x - MIDDLE)); }

static void look_at(struct seen_fighter *seen, const struct fighter *f)
{
    seen->x = from_middle(f->x);
    seen->y = pixels((s16)(GROUND - f->y));
    seen->vx = f->vx;
    seen->projectile_x = from_middle(f->projectile.x);
    seen->projectile_speed = f->projectile.flies ? f->projectile.speed : 0;
    seen->state = (u8)f->state;
    seen->move = f->move;
    seen->frame = f->frame;
    seen->faces_right = f->faces_right;
    seen->character = f->character;
}

void opponent_observe(void)
{
    newest = (u8)((newest + 1) & (RING - 1));
    u8 next = (newest + 1) & (RING - 1);
    for (u8 side = 0; side < SIDES; side++) {
        struct mind *m = &minds[side];
        look_at(&ring[newest].fighters[side], &game.fighters[side]);
        /* unless it holds something then */
        m->walked[next] = m->walked[newest];
        m->held[next] = 0;
    }
}

_Static_assert(INTRO_FRAMES >= RING, "what was seen and held before has left the ring by the end of the intro");

void opponent_new_round(void)
{
    for (u8 side = 0; side < SIDES; side++) {
        struct mind *m = &minds[side];
        m->steps = m->at = m->left = m->committed = m->unanswered = 0;
    }
}

void opponent_new_match(void)
{
    for (u8 side = 0; side < SIDES; side++) {
        struct mind *m = &minds[side];
        m->aggression = m->shooting = m->jumping = m->guarding = m->meeting = m->swinging = m->grabbing = m->uppercutting = 64;
    }
    opponent_new_round();
}

/* ---- plans ---- */

static void clear_plan(struct mind *m) { m->steps = m->at = m->left = m->committed = 0; }

static void add(struct mind *m, u8 way, u16 buttons, u8 frames)
{
    if (m->steps < STEPS && frames)
        m->plan[m->steps++] = (struct step){way, frames, buttons};
}

static void plan_hold(struct mind *m, u8 way, u8 frames)
{
    clear_plan(m);
    add(m, way, 0, frames);
}

static void plan_guard(struct mind *m, u8 low, u8 frames)
{
    plan_hold(m, low ? BACK | DOWN : BACK, frames);
}

static void press(struct mind *m, u8 way, u16 button)
{
    add(m, way, button, 3);
    add(m, way & DOWN, 0, 3);
    m->committed = 1;
}

static void plan_press(struct mind *m, u8 way, u16 button)
{
    clear_plan(m);
    press(m, way, button);
}

static void plan_projectile(struct mind *m)
{
    static const u16 punches[] = {PAD_X, PAD_Y, PAD_Z};
    clear_plan(m);
    add(m, DOWN, 0, 3);
    add(m, DOWN | FORWARD, 0, 3);
    press(m, FORWARD, punches[below(m, 3)]);
    add(m, 0, 0, 8);
}

static void add_rising(struct mind *m)
{
    add(m, FORWARD, 0, 2);
    add(m, DOWN, 0, 2);
    press(m, DOWN | FORWARD, PAD_Z);
    add(m, 0, 0, 8);
}

static void plan_rising(struct mind *m)
{
    clear_plan(m);
    add_rising(m);
}

static void plan_jump_in(struct mind *m)
{
    static const u16 attacks[] = {PAD_C, PAD_B, PAD_Z, PAD_C};
    clear_plan(m);
    add(m, UP | FORWARD, 0, 5);
    add(m, 0, 0, (u8)(20 + below(m, 6)));
    press(m, 0, attacks[below(m, 4)]);
    add(m, BACK, 0, 6);
}

/* ---- what the tables say ---- */

static const struct move *table(const struct seen_fighter *f, u8 move) { return &characters[f->character].moves[move]; }

static s16 reach_of(const struct seen_fighter *f, u8 move) { return (s16)(table(f, move)->reach + BODY_HALF); }

struct option {
    u8 move, way;
    u16 button;
};

/* Answers to a recovery, the best first. */
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

/* What reaches far. */
static const struct option pokes[] = {
    {MOVE_STANDING + MEDIUM_KICK, 0, PAD_B},
    {MOVE_CROUCHING + MEDIUM_KICK, DOWN, PAD_B},
    {MOVE_CROUCHING + HEAVY_KICK, DOWN, PAD_C},
    {MOVE_STANDING + HEAVY_KICK, 0, PAD_C},
};
#define POKES (sizeof pokes / sizeof *pokes)
#define SAFE_POKES 2 /* the first of them are over before they can be answered */

/* Plan the best answer that is quick enough and reaches; false if there is none. */
static u8 punish(struct mind *m, const struct seen_fighter *me, s16 gap, s16 frames)
{
    for (u8 i = 0; i < PUNISHERS; i++) {
        const struct option *o = &punishers[i];
        if (table(me, o->move)->startup < frames && gap <= reach_of(me, o->move) - 2) {
            plan_press(m, o->way, o->button);
            return 1;
        }
    }
    return 0;
}

/* It has blocked, so many frames ago, a blow that leaves its owner open: guard until free, then strike; false if nothing is quick enough. */
static u8 punish_blocked(struct mind *m, const struct seen_fighter *me, const struct move *move, s16 gap, s16 ago)
{
    s16 free_in = (s16)(move->block_stun + BLOCK_STOPS - ago), open = (s16)(move->active + move->recovery + BLOCK_STOPS - ago);
    if (free_in < 0)
        free_in = 0;
    if (!punish(m, me, (s16)(gap + BLOCK_PUSHES), (s16)(open - free_in)))
        return 0;
    struct step strike = m->plan[0];
    clear_plan(m);
    add(m, BACK | DOWN, 0, (u8)(free_in > 1 ? free_in - 1 : 0));
    press(m, strike.way, strike.buttons);
    return 1;
}

static u8 guard_needed_low(u8 flags) { return !(flags & HIT_HIGH); }

/* Unsigned: the console divides such words itself, signed ones by calling. */
static u8 nearer(u8 habit, u8 towards, u8 part)
{
    return (u8)(habit < towards ? habit + (u16)(towards - habit) / part : habit - (u16)(habit - towards) / part);
}

/* ---- what it does about what it sees ---- */

/* Walk on until the projectile is here, guard, and go on; onto one who keeps shooting, jump. */
static void plan_meet_projectile(struct mind *m, const struct skill *skill, s16 arrives, s16 gap)
{
    clear_plan(m);
    add(m, FORWARD, 0, (u8)(arrives > 8 ? arrives - 7 : 0));
    add(m, BACK | DOWN, 0, (u8)(arrives > 8 ? 20 : arrives > -8 ? arrives + 12 : 1));
    if (gap < 180 && gap > 80 && m->shooting > 90 && m->meeting <= OFTEN && happens(m, skill->mixes)) {
        add(m, UP | FORWARD, 0, 14); /* held until the block lets go */
        add(m, 0, 0, 15);
        press(m, 0, PAD_C);
        m->committed = 0;
    } else {
        add(m, FORWARD, 0, 8);
    }
}

/* The other has begun an attack on the ground. */
static void answer_attack(struct mind *m, const struct skill *skill, const struct seen_fighter *me, const struct seen_fighter *it, s16 gap)
{
    const struct move *move = table(it, it->move);
    s16 passed = (s16)(it->frame + skill->reaction), can_hit_until = (s16)(move->startup + move->active);
    s16 left = (s16)(move_frames(move) - passed);
    u8 in_reach = gap <= reach_of(it, it->move) + 8;

    if (it->move == MOVE_PROJECTILE) {
        /* from near, what leaves its hands is here before it can be seen: go by the hands */
        s16 flies = (s16)(((gap - 46) << 4) / characters[it->character].projectile_speed);
        s16 arrives = (s16)(move->startup - passed + (flies > 0 ? flies : 0));
        if (arrives < PASSED && happens(m, skill->punishes) && punish(m, me, gap, left))
            return;
        if (gap < 130 && gap > 60 && left > JUMP_IN_TAKES && m->meeting <= OFTEN && happens(m, (u16)(skill->punishes >> 1)))
            plan_jump_in(m); /* its owner cannot move for a while */
        else if (arrives < 24 && happens(m, surer(skill->blocks, m->shooting)))
            plan_meet_projectile(m, skill, arrives, gap);
        return;
    }
    if (it->move == MOVE_RISING) {
        if (happens(m, skill->blocks)) {
            plan_guard(m, 1, (u8)(can_hit_until > passed ? can_hit_until - passed + 4 : 4));
            if (happens(m, skill->punishes)) {
                add(m, FORWARD, 0, gap > 60 ? 8 : 2);
                press(m, DOWN, PAD_C);
            }
        }
        return;
    }
    if (passed < can_hit_until && in_reach) {
        if (happens(m, surer(skill->blocks, m->aggression))) {
            /* until it is over, or as long as a block of it would bind me: then the other may still recover */
            s16 over = (s16)(can_hit_until + 3), free_again = (s16)(move->startup + BLOCK_STOPS + move->block_stun - 1);
            s16 advantage = (s16)(move->active + move->recovery - move->block_stun);
            u8 answers = advantage > 6 && gap < 66 && happens(m, skill->punishes);
            if (over < free_again && answers)
                over = free_again;
            plan_guard(m, guard_needed_low(move->flags), (u8)(over > passed ? over - passed : 1));
            if (answers)
                press(m, DOWN, advantage > 10 ? PAD_C : PAD_B);
        }
        return;
    }
    s16 ago = (s16)(passed - move->startup);
    if (in_reach && ago >= 0 && ago < RING - 1 && m->held[(newest - ago) & (RING - 1)] & BACK && happens(m, skill->punishes)
        && punish_blocked(m, me, move, gap, ago))
        return;
    if (left > 3 && happens(m, skill->punishes)) {
        if (punish(m, me, gap, left))
            return;
        s16 step = (s16)(characters[me->character].walk_forward / SUBPIXELS);
        /* walk into reach while it still recovers */
        if (left > 14 && gap - 6 * step < reach_of(me, MOVE_CROUCHING + HEAVY_KICK) - 4) {
            plan_hold(m, FORWARD, 6);
            press(m, DOWN, PAD_C);
        }
    } else if (happens(m, (u16)(skill->blocks >> 1))) {
        plan_guard(m, 1, 10);
    }
}

/* The other has left the ground. */
static void answer_jump(struct mind *m, const struct skill *skill, const struct seen_fighter *me, const struct seen_fighter *it, u8 late)
{
    const struct character *c = &characters[it->character];
    s16 flight = (s16)(2 * c->jump_up / 6);
    s16 to_landing = (s16)(flight - skill->reaction - late);
    s16 speed = it->faces_right ? it->vx : (s16)-it->vx, past = (s16)(it->faces_right ? it->x - me->x : me->x - it->x);
    /* how far past me it lands, counted in its direction */
    s16 gap = (s16)(past + pixels((s16)(speed * (flight - late))));
    if (gap < -84 || to_landing < 4) {
        if (gap < -84 && happens(m, skill->mixes) && distance(it->x, me->x) > 120)
            plan_projectile(m);
        return;
    }
    if (happens(m, surer(skill->anti_air, m->jumping))) {
        s16 wait = (s16)(to_landing - 17);
        clear_plan(m);
        if (gap > 30) { /* it comes down behind: walk from under it */
            add(m, FORWARD, 0, (u8)(wait > 2 ? wait : 2));
            add(m, BACK, 0, 8);
            return;
        }
        if (wait > 0)
            add(m, BACK, 0, (u8)wait);
        if (gap > -40 && happens(m, (u16)(skill->punishes >> 2)))
            plan_rising(m);
        else
            press(m, DOWN, PAD_Z);
        return;
    }
    if (happens(m, skill->blocks))
        plan_guard(m, 0, (u8)(to_landing + 6));
}

/* The other's projectile flies at me. */
static void answer_projectile(struct mind *m, const struct skill *skill, const struct seen_fighter *me, const struct seen_fighter *it)
{
    s16 speed = (s16)(it->projectile_speed < 0 ? -it->projectile_speed : it->projectile_speed);
    /* if I walk to meet it */
    s16 closing = (s16)(speed + characters[me->character].walk_forward);
    s16 arrives = (s16)((((distance(it->projectile_x, me->x) - BODY_HALF) << 4) - speed * skill->reaction) / closing);
    if (!happens(m, surer(skill->blocks, m->shooting)))
        return;
    if (arrives > 24 && happens(m, 60)) {
        plan_projectile(m);
        return;
    }
    plan_meet_projectile(m, skill, arrives, distance(it->x, me->x));
}

/* Who lies there is up again in so many frames, and can be hit: be where a sweep just reaches it, and it cannot throw; then sweep. */
static u8 sweep_again(struct mind *m, const struct seen_fighter *me, s16 gap, s16 safe_for)
{
    const struct character *c = &characters[me->character];
    s16 begin_in = (s16)(safe_for - table(me, MOVE_CROUCHING + HEAVY_KICK)->startup);
    s16 best = (s16)(reach_of(me, MOVE_CROUCHING + HEAVY_KICK) - 12);
    s16 off = (s16)(gap - best), walk = 0;
    if (off > 3)
        walk = (s16)(off * SUBPIXELS / c->walk_forward);
    else if (off < -6)
        walk = (s16)(-off * SUBPIXELS / c->walk_back);
    if (begin_in < -TOO_LATE || walk > begin_in + TOO_LATE)
        return 0;
    clear_plan(m);
    add(m, off > 0 ? FORWARD : BACK, 0, (u8)walk);
    add(m, BACK | DOWN, 0, (u8)(begin_in > walk ? begin_in - walk : 0));
    press(m, DOWN, PAD_C);
    return 1;
}

/* The other lies on the ground, or gets up. */
static void await_rising(struct mind *m, const struct skill *skill, const struct seen_fighter *me, const struct seen_fighter *it, s16 gap)
{
    u8 clever = happens(m, skill->mixes);
    /* who attacks always does not guard then either; but a rising attack would go through the sweep */
    if (m->aggression > OFTEN && m->guarding <= OFTEN && m->uppercutting <= OFTEN && (it->state == LYING || it->state == STANDING_UP) && happens(m, skill->punishes)) {
        s16 safe_for = (s16)(STANDS_UP_FOR - it->frame + SAFE_AFTER - skill->reaction);
        if (sweep_again(m, me, gap, it->state == LYING ? (s16)(safe_for + LIES_FOR) : safe_for))
            return;
    }
    if (gap > 110 && clever && happens(m, 150))
        plan_projectile(m);
    else if (gap > reach_of(me, MOVE_CROUCHING + MEDIUM_KICK))
        plan_hold(m, FORWARD, 5);
    else if (clever && happens(m, 60))
        plan_press(m, DOWN, PAD_B);
    else
        plan_guard(m, 1, 8);
}

/* Getting up before one who attacks always: strike with what neither blow nor throw meets, on the first free frame. */
static u8 rise_against(struct mind *m, const struct skill *skill, const struct seen_fighter *me, s16 gap)
{
    s16 free_in = (s16)(STANDS_UP_FOR - me->frame - skill->reaction + (me->state == LYING ? LIES_FOR : 0));
    if (m->aggression <= OFTEN || m->guarding > OFTEN || free_in < RISING_INPUT - 2 || free_in > 16
        || gap > reach_of(me, MOVE_RISING) + RISING_CARRIES || !happens(m, skill->punishes))
        return 0;
    clear_plan(m);
    add(m, BACK | DOWN, 0, (u8)(free_in > RISING_INPUT ? free_in - RISING_INPUT : 0));
    add_rising(m);
    return 1;
}

/* It walks towards me: begin the attack now that will meet it at its full reach; false if none will. */
static u8 meet_advance(struct mind *m, const struct seen_fighter *me, s16 gap, s16 closing)
{
    for (u8 i = 0; i < POKES; i++) {
        const struct option *o = &pokes[i];
        s16 then = (s16)(gap - closing * (table(me, o->move)->startup + 2)), reach = reach_of(me, o->move);
        if (then <= reach - 2 && then > reach - 12) {
            plan_press(m, o->way, o->button);
            return 1;
        }
    }
    return 0;
}

/* What it can do of its own accord, in which zone and against what kind of player, in hundredths. */
enum { SHOOT, ADVANCE, STAY_LOW, RETREAT, LEAP, POKE, MEET, GRAB, STRING, RISE, HOP, DEEDS };
enum { AFAR, BETWEEN, A_STEP_OFF, AT_REACH, CLOSE, ZONES };
enum { CALM, PRESSED, SWUNG_AT, GRABBED_AT, SHOT_AT, JUMPED_AT, MOODS };
static const u8 tactics[ZONES][MOODS][DEEDS] = {
    /*               shoot walk low back leap poke meet grab string rise hop */
    [AFAR] = {
        [CALM] =       {20, 72,  5,  3,  0,  0,  0,  0,  0,  0,  0},
        [PRESSED] =    {90,  6,  2,  2,  0,  0,  0,  0,  0,  0,  0},
        [SWUNG_AT] =   {23, 62, 13,  2,  0,  0,  0,  0,  0,  0,  0},
        [GRABBED_AT] = { 2, 82,  9,  7,  0,  0,  0,  0,  0,  0,  0},
        [SHOT_AT] =    {25, 60, 15,  0,  0,  0,  0,  0,  0,  0,  0},
        [JUMPED_AT] =  {30, 24, 28, 18,  0,  0,  0,  0,  0,  0,  0},
    },
    [BETWEEN] = {
        [CALM] =       {10, 62,  4,  2, 10,  0, 12,  0,  0,  0,  0},
        [PRESSED] =    {38,  4, 12,  2,  2,  0, 37,  0,  0,  0,  5},
        [SWUNG_AT] =   {30,  2,  2,  2,  2,  0, 52,  0,  0,  0, 10},
        [GRABBED_AT] = {40,  2,  2, 10,  2,  0, 42,  0,  0,  0,  2},
        [SHOT_AT] =    { 4, 24, 22,  4, 36,  0, 10,  0,  0,  0,  0},
        [JUMPED_AT] =  {14,  6, 28,  8,  2,  0, 42,  0,  0,  0,  0},
    },
    [A_STEP_OFF] = {
        [CALM] =       {10, 62,  4,  2, 10,  0, 12,  0,  0,  0,  0},
        [PRESSED] =    { 2,  2, 22, 29, 18,  0, 22,  0,  0,  0,  5},
        [SWUNG_AT] =   { 0,  4,  0,  0,  0,  0, 96,  0,  0,  0,  0},
        [GRABBED_AT] = { 7, 30, 12,  7,  2,  0, 29,  0,  0,  0, 13},
        [SHOT_AT] =    { 4, 24, 22,  4, 36,  0, 10,  0,  0,  0,  0},
        [JUMPED_AT] =  {14,  6, 28,  8,  2,  0, 42,  0,  0,  0,  0},
    },
    [AT_REACH] = {
        [CALM] =       { 0, 28,  4,  2,  4, 50, 10,  0,  0,  2,  0},
        [PRESSED] =    { 0,  2, 12, 32,  2,  2,  2,  0,  0, 48,  0},
        [SWUNG_AT] =   { 0,  2,  2,  2,  0,  2, 22,  0,  0, 68,  2},
        [GRABBED_AT] = { 0,  2,  2,  3,  2,  2, 29,  0,  0, 60,  0},
        [SHOT_AT] =    { 0,  5, 18,  5,  5, 55, 10,  0,  0,  2,  0},
        [JUMPED_AT] =  { 0,  4,  6,  5,  0, 58,  5,  0,  0, 22,  0},
    },
    [CLOSE] = {
        [CALM] =       { 0,  0,  4,  2,  2,  6,  0, 54, 30,  2,  0},
        [PRESSED] =    { 0,  0, 33,  6, 29, 14,  2,  2,  7,  2,  5},
        [SWUNG_AT] =   { 0, 10, 31,  2,  2, 13,  2,  2,  4, 15, 19},
        [GRABBED_AT] = { 0,  5,  2, 15,  2,  2, 12, 20,  2, 28, 12},
        [SHOT_AT] =    { 0,  5,  5, 10, 10, 10,  0, 40,  8, 12,  0},
        [JUMPED_AT] =  { 0,  0, 22, 22,  0, 12, 10, 24,  5,  5,  0},
    },
};

static u8 zone_of(const struct seen_fighter *me, s16 gap)
{
    return gap > OUT_OF_A_JUMP ? AFAR : gap > SAFE_TO_SHOOT ? BETWEEN : gap > reach_of(me, MOVE_STANDING + MEDIUM_KICK) + 10 ? A_STEP_OFF : gap > GRABBED_WITHIN ? AT_REACH : CLOSE;
}

static u8 mood_of(const struct mind *m)
{
    if (m->shooting > OFTEN)
        return SHOT_AT;
    if (m->jumping > OFTEN)
        return JUMPED_AT;
    if (m->grabbing > OFTEN)
        return GRABBED_AT;
    return m->aggression <= OFTEN ? CALM : m->swinging > MOSTLY ? SWUNG_AT : PRESSED;
}

static void plan_string(struct mind *m)
{
    clear_plan(m);
    for (u8 i = 0; i < 2; i++) {
        press(m, DOWN, PAD_A);
        add(m, DOWN, 0, 9);
    }
    press(m, DOWN, PAD_C);
}

static void plan_poke(struct mind *m, const struct seen_fighter *me, s16 gap, u8 careful)
{
    const struct option *o = &pokes[below(m, careful ? SAFE_POKES : POKES)];
    if (careful && gap > reach_of(me, o->move) - 2)
        plan_hold(m, FORWARD, 3);
    else
        plan_press(m, o->way, o->button);
}

/* Nothing happens: choose what to do from this distance. */
static void choose(struct mind *m, const struct skill *skill, const struct seen_fighter *me, s16 gap, s16 closing)
{
    u8 clever = happens(m, skill->mixes), deed = 0;
    if (clever) {
        const u8 *chances = tactics[zone_of(me, gap)][mood_of(m)];
        s16 roll = below(m, 100);
        while (deed < DEEDS - 1 && (roll -= chances[deed]) >= 0)
            deed++;
    } else {
        deed = below(m, DEEDS);
    }
    switch (deed) {
    case SHOOT:
        plan_projectile(m);
        return;
    case ADVANCE:
        plan_hold(m, FORWARD, (u8)(gap > OUT_OF_A_JUMP ? 8 + below(m, 14) : 4 + below(m, 8)));
        return;
    case RETREAT:
        plan_hold(m, BACK, 8);
        return;
    case LEAP:
        if (clever && m->meeting > OFTEN)
            plan_hold(m, FORWARD, (u8)(4 + below(m, 8)));
        else
            plan_jump_in(m);
        return;
    case POKE:
        plan_poke(m, me, gap, clever);
        return;
    case MEET:
        if (closing > 0 && meet_advance(m, me, gap, closing))
            return;
        break;
    case GRAB:
        plan_press(m, FORWARD, below(m, 2) ? PAD_Z : PAD_C);
        return;
    case STRING:
        plan_string(m);
        return;
    case RISE:
        if (clever && (m->guarding > OFTEN || gap > reach_of(me, MOVE_RISING) + RISING_CARRIES))
            break;
        plan_rising(m);
        return;
    case HOP:
        plan_hold(m, UP | BACK, 5);
        add(m, 0, 0, 30);
        return;
    }
    plan_guard(m, 1, (u8)(6 + below(m, 12)));
}

static u8 down(u8 state) { return state == FALLING || state == LYING || state == STANDING_UP || state == HELD; }
static u8 in_the_air(u8 state) { return state == AIR || state == RISING_UP; }

/* The gap by the time that the pad acts, if both go on as they do; the other `comes` nearer by so many pixels a frame. */
static s16 expected_gap(const struct mind *m, const struct skill *skill, s16 gap, s16 comes)
{
    s16 mine = (s16)(m->walked[newest] - m->walked[(newest - skill->reaction) & (RING - 1)]), its = (s16)(comes * skill->reaction);
    mine = (s16)(mine / SUBPIXELS);
    if (its > 60)
        its = 60;
    if (its < -60)
        its = -60;
    gap = (s16)(gap - its - mine);
    return gap < BODY_WIDTH ? BODY_WIDTH : gap;
}

/* The stick and buttons of the plan's present step; steps on. */
static struct step next_step(struct mind *m)
{
    struct step now = {0, 0, 0};
    if (m->at < m->steps) {
        now = m->plan[m->at];
        if (m->left == 0)
            m->left = now.frames;
        if (--m->left == 0 && ++m->at >= m->steps)
            clear_plan(m);
    }
    return now;
}

/* What a side sees: both fighters as they were its reaction time ago, and on the frame before. */
struct sight {
    const struct seen_fighter *me, *it, *me_before, *it_before;
};

/* Notice what has begun, and get to know the other's habits. */
static OUT_OF_LINE void notice(struct mind *m, const struct sight *sight, s16 gap)
{
    const struct seen_fighter *me = sight->me, *it = sight->it, *before = sight->it_before;
    u8 attack_begins = it->state == ATTACK && it->move && (before->move != it->move || it->frame < before->frame);
    u8 jump_begins = it->state == AIR && before->state != AIR;
    u8 shot_begins = it->projectile_speed && !before->projectile_speed;
    u16 roll = (u16)(draw(m) >> 8); /* one for two habits, of different bits */
    if (attack_begins)
        m->aggression = nearer(m->aggression, 255, 4);
    else if (m->aggression > 20 && (roll & 15) == 0)
        m->aggression--;
    if (shot_begins)
        m->shooting = nearer(m->shooting, 255, 4);
    else if (attack_begins || jump_begins)
        m->shooting = nearer(m->shooting, 0, 8);

    if (attack_begins && it->move < MOVE_JUMPING)
        m->swinging = nearer(m->swinging, move_frames(table(it, it->move)) >= LONG ? 255 : 0, 4);
    if (attack_begins)
        m->uppercutting = nearer(m->uppercutting, it->move == MOVE_RISING ? 255 : 0, 4);
    if (attack_begins && it->move == MOVE_THROW)
        m->grabbing = nearer(m->grabbing, 255, 3);
    else if (attack_begins && gap < GRABBED_WITHIN)
        m->grabbing = nearer(m->grabbing, 0, 6);

    if (jump_begins)
        m->jumping = nearer(m->jumping, 255, 4);
    else if (attack_begins || shot_begins)
        m->jumping = nearer(m->jumping, 0, 10);
    if (sight->me_before->state == AIR && me->state != AIR)
        m->meeting = nearer(m->meeting, me->state == FALLING && it->move && it->move != MOVE_PROJECTILE ? 255 : 0, 3);
    else if (m->meeting && (roll >> 4 & 63) == 0)
        m->meeting--;
    if (it->state == BLOCK && before->state != BLOCK)
        m->guarding = nearer(m->guarding, 255, 5);
    else if ((it->state == HIT && before->state != HIT) || (it->state == FALLING && before->state != FALLING))
        m->guarding = nearer(m->guarding, 0, 5);

    m->unanswered |= (u8)((attack_begins ? BLOW : 0) | (jump_begins ? JUMP : 0) | (shot_begins ? SHOT : 0));
    m->jump_seen = it->state == AIR ? (u8)(m->jump_seen + (m->jump_seen < 100)) : 0;
    if (it->state != AIR)
        m->unanswered &= (u8)~JUMP;
    if (!it->projectile_speed)
        m->unanswered &= (u8)~SHOT;
    if (it->state != ATTACK)
        m->unanswered &= (u8)~BLOW;
}

/* Make a plan if something wants an answer, or none is left. */
static OUT_OF_LINE void decide(struct mind *m, const struct skill *skill, const struct sight *sight, s16 gap, s16 closing)
{
    const struct seen_fighter *me = sight->me, *it = sight->it;
    if (!m->committed && m->unanswered) {
        if (m->unanswered & JUMP)
            answer_jump(m, skill, me, it, m->jump_seen);
        else if (m->unanswered & SHOT)
            answer_projectile(m, skill, me, it);
        else
            answer_attack(m, skill, me, it, gap);
        m->unanswered = 0;
    }
    if (m->at < m->steps)
        return;
    if (happens(m, skill->hesitates))
        plan_hold(m, 0, (u8)(4 + below(m, skill->dawdles)));
    else if ((me->state == LYING || me->state == STANDING_UP) && rise_against(m, skill, me, gap))
        ;
    else if (down(it->state))
        await_rising(m, skill, me, it, gap);
    else if (in_the_air(it->state) && gap < 100)
        plan_guard(m, 0, 4);
    else if ((me->state == HIT || me->state == BLOCK) && m->grabbing <= OFTEN && happens(m, skill->blocks))
        plan_guard(m, 1, 8);
    else
        choose(m, skill, me, gap, closing);
}

/* How far these directions and buttons carry it ahead, in subpixels. */
static s16 walks(const struct character *c, struct step step)
{
    if (step.buttons || step.way & (UP | DOWN))
        return 0;
    return step.way & FORWARD ? c->walk_forward : step.way & BACK ? (s16)-c->walk_back : 0;
}

static OUT_OF_LINE u16 pad_of(struct mind *m, const struct skill *skill, const struct sight *sight, const struct character *c)
{
    const struct seen_fighter *me = sight->me, *it = sight->it, *before = sight->it_before;
    /* at the same place it is by where they look, so that the mirrored fight goes alike */
    u8 ahead_is_right = me->x == it->x ? me->faces_right : me->x < it->x;
    s16 comes = (s16)(ahead_is_right ? before->x - it->x : it->x - before->x);
    s16 gap = distance(it->x, me->x);
    if (happens(m, skill->spacing))
        gap = expected_gap(m, skill, gap, comes);
    notice(m, sight, gap);
    decide(m, skill, sight, gap, it->state == FREE ? comes : 0);

    struct step step = next_step(m);
    u16 pad = step.buttons, ahead = ahead_is_right ? PAD_RIGHT : PAD_LEFT, back = ahead_is_right ? PAD_LEFT : PAD_RIGHT;
    if (step.way & FORWARD)
        pad |= ahead;
    if (step.way & BACK)
        pad |= back;
    if (step.way & UP)
        pad |= PAD_UP;
    if (step.way & DOWN)
        pad |= PAD_DOWN;
    u8 next = (newest + 1) & (RING - 1);
    m->held[next] = step.way;
    m->walked[next] = (s16)(m->walked[newest] + walks(c, step));
    return pad;
}

u16 opponent_pad(u8 side, u8 level)
{
    const struct skill *skill = &skills[level];
    /* the newest observation is of the last frame, one frame ago already */
    const struct seen_fighter *now = ring[(newest - skill->reaction + 1) & (RING - 1)].fighters;
    const struct seen_fighter *then = ring[(newest - skill->reaction) & (RING - 1)].fighters;
    struct sight sight = {&now[side], &now[1 - side], &then[side], &then[1 - side]};
    return pad_of(&minds[side], skill, &sight, character_of(&game.fighters[side]));
}
