#include "rules.h"

#define ROUND_OVER_FRAMES 120
#define MATCH_OVER_FRAMES 240
#define DECIDED_STEP 16       /* frames for which RESET_COUNTDOWN keeps each value */

#define STOP_LIGHT 5          /* frames of hit stop, in which both fighters freeze */
#define STOP_HEAVY 9
#define COUNTER_HIT(damage) ((damage) + ((damage) >> 1)) /* on a fighter hit before the recovery of its own attack */
#define CHIP_OF(damage) ((damage) * 22 >> 6) /* a third, of a blocked special move: whoever only guards loses by it */
#define HEAVY_FROM 20         /* damage from which a hit counts as heavy: long hit stop, screen shake */
#define FOUGHT_BELOW (FULL_HP * 2 / 3) /* health from which on down the clock may decide a round */
#define FALL_SPEED 32
#define THROW_SPEED 56
#define THROW_LETS_GO 18      /* frame of a throw on which the victim is released */
#define ESCAPE_WITHIN 5       /* first frames of a hold, in which the victim can escape */
#define ESCAPE_STUN 12
#define ESCAPE_SPEED 56
#define THROW_HOLDS_AT PIXELS(26)
#define PROJECTILE_HALF 8     /* pixels */
#define LEAST_HEIGHT_IN_AIR 52
#define SCORE_A_DAMAGE 10
#define SCORE_A_ROUND 1000

struct game game;

/* ---- rounds and matches ---- */

static void enter_phase(u16 phase)
{
    game.phase = phase;
    game.phase_frame = 0;
}

static void start_round(void)
{
    fighter_place(&game.fighters[0], AGENT_STARTS, 1);
    fighter_place(&game.fighters[1], ENEMY_STARTS, 0);
    memset(game.sparks, 0, sizeof game.sparks);
    game.seconds = ROUND_SECONDS;
    game.frames = FRAMES_A_SECOND;
    game.hit_stop = 0;
    game.shake = 0;
    game.outcome = UNDECIDED;
    game.round++;
    enter_phase(PHASE_INTRO);
}

void rules_new_match(void)
{
    game.victories[0] = game.victories[1] = 0;
    game.fighters[0].landed = game.fighters[1].landed = 0;
    game.round = 0;
    game.score = 0;
    game.time_outs = 0;
    start_round();
}

/* BCD addition without divisions, which are so slow that a round's last hit would overrun the frame. */
static void add_score(u16 points)
{
    static const u16 worth[] = {1, 10, 100, 1000};
    for (u8 place = 4; place-- > 0;) {
        for (; points >= worth[place]; points -= worth[place]) {
            u8 at = (u8)(4 * place);
            for (; at < 32 && ((game.score >> at) & 15) == 9; at += 4)
                game.score -= 9u << at;
            if (at < 32)
                game.score += 1u << at;
        }
    }
}

static void win_round(u8 side)
{
    struct fighter *winner = &game.fighters[side];
    game.victories[side]++;
    game.outcome = side ? ENEMY_WON : AGENT_WON;
    if (side == 0)
        add_score(SCORE_A_ROUND);
    winner->state = WON;
    winner->frame = 0;
    winner->move = MOVE_NONE;
    winner->crouches = 0;
    winner->vx = 0;
}

static void judge_round(void)
{
    s16 agent = game.fighters[0].hp, enemy = game.fighters[1].hp;
    u8 knocked_out = agent == KNOCKED_OUT || enemy == KNOCKED_OUT;
    if (!knocked_out && game.seconds)
        return;
    if (!knocked_out)
        game.time_outs++;
    /* without damage enough the clock gives the round to nobody: hitting once and running away wins nothing */
    u8 was_fought = agent <= FOUGHT_BELOW || enemy <= FOUGHT_BELOW;
    if (!was_fought || agent == enemy)
        game.outcome = DRAWN;
    else
        win_round(agent < enemy);
    for (u8 side = 0; side < SIDES; side++)
        input_clear(&game.fighters[side].input);
    enter_phase(PHASE_ROUND_OVER);
}

static void after_round(void)
{
    u8 agent = game.victories[0], enemy = game.victories[1];
    if (agent < ROUNDS_TO_WIN && enemy < ROUNDS_TO_WIN && game.round < MOST_ROUNDS) {
        start_round();
        return;
    }
    game.outcome = agent > enemy ? AGENT_WON : enemy > agent ? ENEMY_WON : DRAWN;
    enter_phase(PHASE_MATCH_OVER);
}

static void run_clock(void)
{
    if (game.frames) {
        game.frames--;
    } else if (game.seconds) {
        game.seconds--;
        game.frames = FRAMES_A_SECOND - 1;
    }
    if (game.seconds == 0)
        game.frames = 0;
}

/* ---- hits ---- */

/* If both fighters hit on the same frame, the longer hit stop applies. */
static void stop_for(u16 frames)
{
    if (game.hit_stop < frames)
        game.hit_stop = frames;
}

struct blow {
    u8 lands;
    u8 blocked;
    u8 by_projectile;
    u8 from_ground;
    s8 away;          /* push-back direction: 1 right, -1 left */
    s16 x, y;
    const struct move *move;
    u8 move_number;
};

static u8 can_be_struck(const struct fighter *f)
{
    switch (f->state) {
    case FALLING:
    case LYING:
    case STANDING_UP:
    case HELD:
    case WON:
        return 0;
    default:
        return !f->safe && !fighter_untouchable(f) && f->hp != KNOCKED_OUT;
    }
}

/* True if the range from bottom to top, in pixels above the ground, overlaps the hurtbox of f. */
static u8 meets_body(const struct fighter *f, s16 bottom, s16 top)
{
    s16 feet = pixels((s16)(GROUND - f->y));
    s16 head = (s16)(feet + (f->state == AIR ? LEAST_HEIGHT_IN_AIR : f->crouches ? CROUCH_HEIGHT : STAND_HEIGHT));
    return top >= feet && bottom <= head;
}

/* A jumping attack has to be blocked standing only on the way down: on the way up it would hit before
   anybody could react to the jump. */
static u8 flags_of(const struct fighter *f, const struct move *move)
{
    u8 goes_up = f->state == AIR && f->vy < 0;
    return goes_up ? (u8)(move->flags & ~HIT_HIGH) : move->flags;
}

static void find_blow(const struct fighter *f, const struct fighter *other, u8 by_projectile, u8 move, struct blow *blow)
{
    blow->lands = 1;
    blow->by_projectile = by_projectile;
    blow->from_ground = f->y == GROUND;
    blow->away = f->x < other->x || (f->x == other->x && f->faces_right) ? 1 : -1;
    blow->move = &character_of(f)->moves[move];
    blow->move_number = move;
    blow->blocked = fighter_guards(other, f, flags_of(f, blow->move));
}

static void look_for_blow(const struct fighter *f, const struct fighter *other, struct blow *blow)
{
    blow->lands = 0;
    if (!f->move || f->has_hit || f->move == MOVE_THROW || f->move == MOVE_PROJECTILE || !can_be_struck(other))
        return;
    const struct move *move = move_of(f);
    if (f->frame < move->startup || f->frame >= move->startup + move->active)
        return;
    s16 gap = pixels((s16)(f->faces_right ? other->x - f->x : f->x - other->x));
    s16 feet = pixels((s16)(GROUND - f->y));
    if (gap < -BODY_HALF || gap > move->reach + BODY_HALF || !meets_body(other, (s16)(feet + move->bottom), (s16)(feet + move->top)))
        return;
    find_blow(f, other, 0, f->move, blow);
    blow->x = (s16)(other->x + (f->faces_right ? -PIXELS(BODY_HALF) : PIXELS(BODY_HALF)));
    blow->y = (s16)(f->y - PIXELS((move->bottom + move->top) / 2));
}

static void look_for_projectile(struct fighter *f, const struct fighter *other, struct blow *blow)
{
    struct projectile *p = &f->projectile;
    s16 up = pixels((s16)(GROUND - p->y));
    if (!p->flies || blow->lands || !can_be_struck(other))
        return;
    if (distance(p->x, other->x) > PIXELS(BODY_HALF + PROJECTILE_HALF) || !meets_body(other, (s16)(up - PROJECTILE_HALF), (s16)(up + PROJECTILE_HALF)))
        return;
    p->flies = 0;
    find_blow(f, other, 1, MOVE_PROJECTILE, blow);
    blow->x = p->x;
    blow->y = p->y;
}

static void hurt(struct fighter *f, s16 damage)
{
    f->hp = (s16)(f->hp - damage);
    if (f->hp <= 0)
        f->hp = KNOCKED_OUT;
}

static void put_spark(u8 side, u8 kind, s16 x, s16 y)
{
    game.sparks[side] = (struct spark){kind, 0, x, y};
}

static s16 damage_to(const struct fighter *f, const struct move *move) { return (s16)((move->damage * character_of(f)->weight + 32) >> 6); }

/* True from the start of an attack to the last frame on which it can hit, false in its recovery. */
static u8 can_still_hit(const struct fighter *f)
{
    const struct move *move = move_of(f);
    return f->move && f->frame < move->startup + move->active;
}

static void strike(u8 side, const struct blow *blow)
{
    struct fighter *f = &game.fighters[side], *by = &game.fighters[1 - side];
    const struct move *move = blow->move;
    s16 push = move->push, away = blow->away;
    u8 heavy = move->damage >= HEAVY_FROM;
    u8 was_in_air = f->state == AIR || f->y < GROUND;

    if (!blow->by_projectile)
        by->has_hit = 1;
    if (blow->blocked) {
        if (move->flags & HIT_CHIPS)
            hurt(f, (s16)CHIP_OF(move->damage));
        f->state = BLOCK;
        f->stun = move->block_stun;
        push /= 2;
        stop_for(STOPS_BLOCKED);
        put_spark(side, SPARK_BLOCK, blow->x, blow->y);
    } else {
        s16 damage = damage_to(f, move);
        if (can_still_hit(f))
            damage = COUNTER_HIT(damage);
        hurt(f, damage);
        by->landed |= 1u << blow->move_number;
        if (side == 1)
            add_score((u16)(damage * SCORE_A_DAMAGE));
        f->state = HIT;
        f->stun = move->hit_stun;
        stop_for(heavy ? STOP_HEAVY : STOP_LIGHT);
        if (heavy)
            game.shake = STOP_HEAVY;
        put_spark(side, heavy ? SPARK_HEAVY : SPARK_HIT, blow->x, blow->y);
    }
    f->move = MOVE_NONE;
    f->frame = 0;
    f->vx = (s16)(away * push);
    if (f->hp == KNOCKED_OUT || (!blow->blocked && ((move->flags & HIT_KNOCKS_DOWN) || was_in_air)))
        fighter_fall(f, (s16)(away * FALL_SPEED));
    /* in a corner, the push-back moves the attacker instead */
    if (!blow->by_projectile && blow->from_ground && (f->x <= LEFT_WALL || f->x >= RIGHT_WALL))
        by->x -= (s16)(away * push * 2);
}

static void meet_projectiles(void)
{
    struct projectile *a = &game.fighters[0].projectile, *b = &game.fighters[1].projectile;
    if (a->flies && b->flies && distance(a->x, b->x) < PIXELS(2 * PROJECTILE_HALF)) {
        a->flies = b->flies = 0;
        put_spark(0, SPARK_BLOCK, a->x, a->y);
    }
}

static void move_projectile(struct fighter *f)
{
    struct projectile *p = &f->projectile;
    if (!p->flies)
        return;
    p->x += p->speed;
    p->age++;
    s16 middle = (s16)((game.fighters[0].x + game.fighters[1].x) / 2);
    if (p->x < 0 || p->x > PIXELS(512) || distance(p->x, middle) > PIXELS(VIEW_WIDTH / 2 + 48))
        p->flies = 0;
}

/* ---- throws ---- */

static u8 grabs(const struct fighter *f)
{
    return f->move == MOVE_THROW && !f->has_hit && f->frame == move_of(f)->startup;
}

static u8 still_grabbable(const struct fighter *f, const struct fighter *by)
{
    return fighter_grabbable(f) && distance(f->x, by->x) <= PIXELS(character_of(by)->throw_range + 6);
}

/* The victim presses a heavy button and a direction, as for a throw, right after it was grabbed. */
static u8 escapes(const struct fighter *held)
{
    const struct input *input = &held->input;
    return held->frame < ESCAPE_WITHIN && (input->pressed & (PAD_Z | PAD_C)) && (input->held & (PAD_LEFT | PAD_RIGHT));
}

static void push_off(struct fighter *f, s16 speed)
{
    f->state = BLOCK;
    f->stun = ESCAPE_STUN;
    f->move = MOVE_NONE;
    f->frame = 0;
    f->vx = speed;
    f->input.pressed = 0;
}

static void escape(u8 side)
{
    struct fighter *held = &game.fighters[side], *by = &game.fighters[1 - side];
    s16 ahead = by->faces_right ? 1 : -1;
    push_off(held, (s16)(ahead * ESCAPE_SPEED));
    push_off(by, (s16)(-ahead * ESCAPE_SPEED));
    put_spark(side, SPARK_BLOCK, held->x, (s16)(held->y - PIXELS(40)));
    stop_for(STOPS_BLOCKED);
}

static void step_throws(void)
{
    struct fighter *f = game.fighters;
    u8 first = grabs(&f[0]), second = grabs(&f[1]);
    for (u8 side = 0; side < SIDES; side++) {
        struct fighter *by = &f[side], *held = &f[1 - side];
        /* two throws on the same frame cancel each other */
        if ((side ? second : first) && !(first && second) && still_grabbable(held, by)) {
            by->has_hit = 1;
            held->state = HELD;
            held->move = MOVE_NONE;
            held->frame = 0;
            held->crouches = 0;
        }
        if (held->state == HELD && by->move != MOVE_THROW) /* the thrower was hit by a projectile */
            held->state = FREE;
        if (by->move == MOVE_THROW && by->has_hit && held->state == HELD) {
            s16 ahead = by->faces_right ? 1 : -1;
            held->x = (s16)(by->x + ahead * THROW_HOLDS_AT);
            if (escapes(held)) {
                escape((u8)(1 - side));
            } else if (by->frame >= THROW_LETS_GO) {
                hurt(held, damage_to(held, move_of(by)));
                by->landed |= 1u << MOVE_THROW;
                if (side == 0)
                    add_score((u16)(damage_to(held, move_of(by)) * SCORE_A_DAMAGE));
                put_spark((u8)(1 - side), SPARK_HEAVY, held->x, (s16)(held->y - PIXELS(30)));
                stop_for(STOP_HEAVY);
                game.shake = STOP_HEAVY;
                fighter_fall(held, (s16)(ahead * THROW_SPEED));
            }
        }
    }
}

/* ---- bodies ---- */

static void keep_apart(void)
{
    struct fighter *a = &game.fighters[0], *b = &game.fighters[1];
    s16 overlap = (s16)(PIXELS(BODY_WIDTH) - distance(a->x, b->x));
    if (overlap <= 0 || distance(a->y, b->y) > PIXELS(44) || a->state == HELD || b->state == HELD || a->state == LYING || b->state == LYING
        || a->state == FALLING || b->state == FALLING)
        return;
    s16 half = (s16)((overlap + 1) / 2);
    if (half > PIXELS(3))
        half = PIXELS(3);
    /* at equal x, facing decides, so that a mirrored match plays out identically */
    struct fighter *left = a->x < b->x || (a->x == b->x && a->faces_right >= b->faces_right) ? a : b, *right = left == a ? b : a;
    left->x -= half;
    right->x += half;
    if (left->x < LEFT_WALL) {
        right->x += LEFT_WALL - left->x;
        left->x = LEFT_WALL;
    }
    if (right->x > RIGHT_WALL) {
        left->x -= right->x - RIGHT_WALL;
        right->x = RIGHT_WALL;
    }
}

/* Keep both fighters in view: limit the distance between them. */
static void keep_in_view(void)
{
    struct fighter *a = &game.fighters[0], *b = &game.fighters[1];
    s16 most = PIXELS(VIEW_WIDTH - 56), apart = distance(a->x, b->x);
    if (apart <= most)
        return;
    s16 half = (s16)((apart - most + 1) / 2);
    struct fighter *left = a->x < b->x ? a : b, *right = left == a ? b : a;
    left->x += half;
    right->x -= half;
}

/* Clamp to the walls again, since throws and push-back in a corner move fighters after their own step. */
static void keep_inside(void)
{
    for (u8 side = 0; side < SIDES; side++) {
        struct fighter *f = &game.fighters[side];
        if (f->x < LEFT_WALL)
            f->x = LEFT_WALL;
        if (f->x > RIGHT_WALL)
            f->x = RIGHT_WALL;
    }
}

/* ---- a frame ---- */

/* Both steps use the other fighter's position from before the frame, so that the order does not matter. */
static void step_both(struct fighter f[SIDES])
{
    struct target agent = {f[0].x, fighter_grabbable(&f[0])}, enemy = {f[1].x, fighter_grabbable(&f[1])};
    fighter_step(&f[0], enemy);
    fighter_step(&f[1], agent);
}

static void step_fight(void)
{
    struct fighter *f = game.fighters;
    struct blow blows[SIDES];
    if (game.hit_stop) {
        game.hit_stop--;
        return;
    }
    step_both(f);
    for (u8 side = 0; side < SIDES; side++)
        move_projectile(&f[side]);
    meet_projectiles();
    step_throws();
    /* find both sides' hits before applying either, so that attacks can trade */
    look_for_blow(&f[1], &f[0], &blows[0]);
    look_for_blow(&f[0], &f[1], &blows[1]);
    look_for_projectile(&f[1], &f[0], &blows[0]);
    look_for_projectile(&f[0], &f[1], &blows[1]);
    for (u8 side = 0; side < SIDES; side++)
        if (blows[side].lands)
            strike(side, &blows[side]);
    keep_apart();
    keep_in_view();
    keep_inside();
}

static void age_sparks(void)
{
    for (u8 side = 0; side < SIDES; side++)
        if (game.sparks[side].kind && ++game.sparks[side].frame >= 12)
            game.sparks[side].kind = SPARK_NONE;
    if (game.shake)
        game.shake--;
}

/* After a round nobody can act, since judge_round has cleared the inputs, and projectiles disappear;
   but fighters in the air still land. */
static void step_aftermath(void)
{
    step_both(game.fighters);
    for (u8 side = 0; side < SIDES; side++)
        game.fighters[side].projectile.flies = 0;
    keep_apart();
    keep_inside();
}

void rules_step(const u16 pads[SIDES])
{
    age_sparks();
    game.phase_frame++;
    switch (game.phase) {
    case PHASE_INTRO:
        if (game.phase_frame >= INTRO_FRAMES)
            enter_phase(PHASE_FIGHT);
        break;
    case PHASE_FIGHT:
        for (u8 side = 0; side < SIDES; side++)
            input_take(&game.fighters[side].input, pads[side]);
        step_fight();
        run_clock();
        judge_round();
        break;
    case PHASE_ROUND_OVER:
        step_aftermath();
        if (game.phase_frame >= ROUND_OVER_FRAMES)
            after_round();
        break;
    case PHASE_MATCH_OVER:
        step_aftermath();
        if (game.phase_frame >= MATCH_OVER_FRAMES)
            enter_phase(PHASE_TITLE);
        break;
    default:
        break;
    }
}

static u16 decimal(u8 value) { return (u16)(((value / 10) << 4) | (value % 10)); }

static u16 projectile_x(const struct fighter *f)
{
    s16 x = pixels(f->projectile.x);
    return f->projectile.flies ? (u16)(x < 1 ? 1 : x) : 0;
}

static u16 stun_of(const struct fighter *f) { return f->state == HIT || f->state == BLOCK ? f->stun : 0; }

static u8 reset_countdown(void)
{
    s16 left = (s16)(RESET_DECIDED - game.phase_frame / DECIDED_STEP);
    return game.phase == PHASE_MATCH_OVER && left > 0 ? (u8)left : 0;
}

void rules_publish(void)
{
    const struct fighter *agent = &game.fighters[0], *enemy = &game.fighters[1];
    u8 fights = game.phase == PHASE_FIGHT;
    AGENT_STATUS = fighter_status(agent);
    ENEMY_STATUS = fighter_status(enemy);
    AGENT_X = (u16)pixels(agent->x);
    ENEMY_X = (u16)pixels(enemy->x);
    AGENT_Y = (u16)pixels(agent->y);
    ENEMY_Y = (u16)pixels(enemy->y);
    AGENT_HP = (u16)agent->hp;
    ENEMY_HP = (u16)enemy->hp;
    AGENT_VICTORIES = game.victories[0];
    ENEMY_VICTORIES = game.victories[1];
    SCORE = game.score;
    ROUND_COUNTDOWN = (u16)((decimal(game.seconds) << 8) | decimal(game.frames));
    RESET_COUNTDOWN = reset_countdown();

    PHASE = game.phase;
    ROUND = game.round;
    HIT_STOP = game.hit_stop;
    AGENT_MOVE = agent->move;
    ENEMY_MOVE = enemy->move;
    AGENT_MOVE_FRAME = agent->move ? agent->frame : 0;
    ENEMY_MOVE_FRAME = enemy->move ? enemy->frame : 0;
    AGENT_STUN = stun_of(agent);
    ENEMY_STUN = stun_of(enemy);
    AGENT_ACTIONABLE = fights && !game.hit_stop && fighter_actionable(agent);
    ENEMY_ACTIONABLE = fights && !game.hit_stop && fighter_actionable(enemy);
    AGENT_PROJECTILE_X = projectile_x(agent);
    ENEMY_PROJECTILE_X = projectile_x(enemy);
    AGENT_LANDED = agent->landed;
    ENEMY_LANDED = enemy->landed;
    TIME_OUTS = game.time_outs;
}
