#include "teacher.h"

#include <math.h>

#include "blows.h"

#define MOST_DECISIONS 4096 /* in a match */
#define NO_ACTION 255
#define SHOT_LEAVES 14      /* frames until a projectile is released */
#define SHOT_SPEED 3.6      /* pixels per frame */
#define APPROACH 1.6        /* frames by which its arrival comes closer on a frame of walking towards it */

static const s16 nearer_than[BANDS - 1] = {44, 62, 90, 130, 190};

/* In the order of CASES in strategist.py. */
enum { IN_FLIGHT, SHOT_COMES, BLOCKING, BEING_HIT, STANDS, CROUCHES, BLOCKS, JUMP_BEGINS, DOWN_FROM_HIGH, COMES_DOWN,
    BLOW_BEGINS, BLOW_STRIKES, BLOW_IS_PAST, SPECIAL_BEGINS, SPECIAL_STRIKES, SPECIAL_IS_PAST, WAS_JUST_HIT, WAS_HIT };

/* The published variables of one frame. */
struct glance {
    s16 my_x, its_x, its_y;
    u16 my_status, its_status;
};

/* The state of the teacher in a match: see Eyes of strategist.py and Restricted of fighters.py. */
static struct {
    const struct teacher *teacher;
    u32 random;

    struct glance seen[MOST_LATE + 1]; /* a ring buffer */
    u32 frame;
    u16 since;         /* frames since the enemy's status began */
    u16 status;
    u8 falls;
    s16 last_y;
    double shot_in;
    u16 held;

    const struct action *action;
    u8 at;
    s16 cooldown;
    u8 latest[2];
    u32 decisions;
    struct decision decided[MOST_DECISIONS];
} at_work;

/* ---- what it sees ---- */

static const struct glance *look(void)
{
    u32 late = at_work.teacher->late;
    at_work.seen[at_work.frame % (MOST_LATE + 1)] = (struct glance){
        (s16)AGENT_X, (s16)ENEMY_X, (s16)ENEMY_Y, AGENT_STATUS, ENEMY_STATUS,
    };
    return &at_work.seen[(at_work.frame > late ? at_work.frame - late : 0) % (MOST_LATE + 1)];
}

static void notice(const struct glance *now)
{
    u16 ahead = now->my_x <= now->its_x ? PAD_RIGHT : PAD_LEFT;
    u8 walks_in = (at_work.held & ahead) && !(at_work.held & PAD_DOWN);
    at_work.since = now->its_status == at_work.status ? (u16)(at_work.since + 1) : 0;
    at_work.status = now->its_status;
    at_work.falls = now->its_y > at_work.last_y;
    at_work.last_y = now->its_y;
    at_work.shot_in -= walks_in ? APPROACH : 1;
    if (now->its_status == STATUS_SPECIAL && at_work.since == 0)
        at_work.shot_in = SHOT_LEAVES + (distance(now->my_x, now->its_x) - 46) / SHOT_SPEED - at_work.teacher->late;
}

static u8 case_of(const struct glance *now)
{
    u16 since = at_work.since;
    if (now->my_status == STATUS_JUMP)
        return IN_FLIGHT;
    if (at_work.shot_in > -10 && at_work.shot_in < 34)
        return SHOT_COMES;
    if (now->my_status == STATUS_BLOCK)
        return BLOCKING;
    if (now->my_status == STATUS_HIT)
        return BEING_HIT;
    switch (now->its_status) {
    case STATUS_STAND:
        return STANDS;
    case STATUS_CROUCH:
        return CROUCHES;
    case STATUS_BLOCK:
        return BLOCKS;
    case STATUS_JUMP:
        if (!at_work.falls)
            return JUMP_BEGINS;
        return pixels(GROUND) - now->its_y > 40 ? DOWN_FROM_HIGH : COMES_DOWN;
    case STATUS_ATTACK:
        return since < 8 ? BLOW_BEGINS : since < 18 ? BLOW_STRIKES : BLOW_IS_PAST;
    case STATUS_SPECIAL:
        return since < 14 ? SPECIAL_BEGINS : since < 36 ? SPECIAL_STRIKES : SPECIAL_IS_PAST;
    default:
        return since < 12 ? WAS_JUST_HIT : WAS_HIT;
    }
}

static u8 cell_of(const struct glance *now)
{
    s16 gap = distance(now->my_x, now->its_x);
    u8 band = 0;
    while (band < BANDS - 1 && gap >= nearer_than[band])
        band++;
    return (u8)(case_of(now) * BANDS + band);
}

/* ---- what it decides ---- */

static u32 draw(void)
{
    at_work.random ^= at_work.random << 13;
    at_work.random ^= at_work.random >> 17;
    at_work.random ^= at_work.random << 5;
    return at_work.random;
}

/* True if an action is not allowed at all, or was the choice twice in a row. */
static u8 is_out(u8 action)
{
    return !at_work.teacher->may[action] || (at_work.latest[0] == action && at_work.latest[1] == action);
}

static u8 best_action(const float worth[ACTIONS])
{
    u8 best = NO_ACTION;
    for (u8 action = 0; action < ACTIONS; action++)
        if (!is_out(action) && (best == NO_ACTION || worth[action] > worth[best]))
            best = action;
    return best;
}

static u8 drawn_action(const float worth[ACTIONS])
{
    u8 best = best_action(worth);
    float sums[ACTIONS], sum = 0;
    for (u8 i = 0; i < ACTIONS; i++) {
        sum += is_out(i) ? 0 : expf(worth[i] - worth[best]);
        sums[i] = sum;
    }
    double drawn = (double)(draw() >> 8) / (1 << 24) * sum; /* a float may be rounded up to the sum */
    u8 action = 0;
    while (action < ACTIONS - 1 && sums[action] <= drawn)
        action++;
    return action;
}

static void decide(const struct glance *now)
{
    const struct teacher *teacher = at_work.teacher;
    u8 mirrored = now->its_x < now->my_x;
    u8 cell = cell_of(now);
    u8 chosen = (teacher->explores ? drawn_action : best_action)(teacher->worth[cell]);
    u8 made = mirrored ? actions[chosen].mirrored : chosen;
    if (at_work.decisions < MOST_DECISIONS)
        at_work.decided[at_work.decisions++] = (struct decision){cell, chosen, blows_frame()};
    at_work.latest[0] = at_work.latest[1];
    at_work.latest[1] = chosen;
    at_work.action = &actions[made];
    at_work.at = 0;
    at_work.cooldown = teacher->cooldown[made];
}

static u16 teacher_pad(void *who)
{
    (void)who;
    const struct glance *now = look();
    notice(now);
    if (at_work.frame % at_work.teacher->interval == 0 && at_work.cooldown <= 0)
        decide(now);
    at_work.held = at_work.action->held[at_work.at];
    if (at_work.at < at_work.action->frames - 1)
        at_work.at++;
    at_work.frame++;
    at_work.cooldown--;
    return at_work.held;
}

/* ---- matches ---- */

static void begin(const struct teacher *teacher, u32 random)
{
    memset(&at_work, 0, sizeof at_work);
    at_work.teacher = teacher;
    at_work.random = random ? random : 1;
    at_work.last_y = pixels(GROUND);
    at_work.shot_in = -100;
    at_work.latest[0] = at_work.latest[1] = NO_ACTION;
}

static void watch_blows(u16 pad)
{
    (void)pad;
    blows_note();
}

u32 duel_teach(const struct teacher *teacher, u32 seed, const struct setting *settings, u32 matches, const float *weights,
    u32 frames, struct lesson *lessons, u32 room, struct result *results)
{
    u32 count = 0;
    for (u32 i = 0; i < matches; i++) {
        begin(teacher, seed);
        blows_begin();
        play_match(teacher_pad, NULL, &settings[i], watch_blows, &results[i]);
        seed = at_work.random;
        count += write_lessons(at_work.decided, at_work.decisions, weights, frames, lessons + count, room - count);
    }
    return count;
}

u32 duel_record_teacher(const struct teacher *teacher, const struct setting *setting, u16 *pads, u32 most_frames,
    struct result *result)
{
    record_into(pads, most_frames);
    begin(teacher, 1);
    play_match(teacher_pad, NULL, setting, note_pad, result);
    return result->frames;
}
