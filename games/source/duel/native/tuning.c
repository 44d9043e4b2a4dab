#include "tuning.h"

#include "mind.h"

#define MOST_CHOICES 8192 /* of a match */
#define MOST_BLOWS 2048

/* What happened in the match that is being played. */
static struct {
    u32 frame;
    u16 noted; /* frame of the opponent's own count on which the latest choice was noted */
    s16 hp[SIDES];

    u32 choices;
    struct sample chosen[MOST_CHOICES];
    u32 chosen_on[MOST_CHOICES];

    u32 blows;
    float balance[MOST_BLOWS]; /* health that the opponent gained by it */
    u32 struck_on[MOST_BLOWS];
} match;

void duel_read_tactics(struct options table[SITUATIONS]) { memcpy(table, tactics, sizeof tactics); }

void duel_write_tactics(const struct options table[SITUATIONS]) { memcpy(tactics, table, sizeof tactics); }

/* ---- watching ---- */

static void note_choice_of(const struct mind *mind)
{
    const struct choice *choice = &mind->trail[mind->newest_choice];
    if (choice->frame == 0 || choice->frame == match.noted || match.choices == MOST_CHOICES)
        return;
    match.noted = choice->frame;
    match.chosen[match.choices] = (struct sample){choice->situation, choice->option, mind->circumstances, 0};
    match.chosen_on[match.choices++] = match.frame;
}

/* Health that a side has lost on this frame; none if a round has begun. */
static s16 lost(u8 side)
{
    s16 hp = game.fighters[side].hp < 0 ? 0 : game.fighters[side].hp;
    s16 before = match.hp[side];
    match.hp[side] = hp;
    return hp < before ? (s16)(before - hp) : 0;
}

static void note_blow(void)
{
    s16 balance = (s16)(lost(0) - lost(1));
    if (balance == 0 || match.blows == MOST_BLOWS)
        return;
    match.balance[match.blows] = balance;
    match.struck_on[match.blows++] = match.frame;
}

static void watch_opponent(u16 pad)
{
    (void)pad;
    note_choice_of(&minds[1]);
    note_blow();
    match.frame++;
}

/* ---- samples ---- */

static float gained_after(u32 frame, u32 *first, const float *weights, u32 frames)
{
    float gained = 0;
    while (*first < match.blows && match.struck_on[*first] < frame)
        (*first)++;
    for (u32 i = *first; i < match.blows && match.struck_on[i] < frame + frames; i++)
        gained += match.balance[i] * weights[match.struck_on[i] - frame];
    return gained;
}

static u32 write_samples(const float *weights, u32 frames, struct sample *samples, u32 room)
{
    u32 count = match.choices < room ? match.choices : room, first = 0;
    for (u32 i = 0; i < count; i++) {
        samples[i] = match.chosen[i];
        samples[i].gained = gained_after(match.chosen_on[i], &first, weights, frames);
    }
    return count;
}

u32 duel_sample(const struct player *player, const struct setting *settings, u32 matches, const float *weights, u32 frames,
    struct sample *samples, u32 room, struct result *results)
{
    u32 count = 0;
    for (u32 i = 0; i < matches; i++) {
        match.frame = match.choices = match.blows = 0;
        match.noted = 0;
        match.hp[0] = match.hp[1] = FULL_HP;
        play_match(player, &settings[i], watch_opponent, &results[i]);
        count += write_samples(weights, frames, samples + count, room - count);
    }
    return count;
}
