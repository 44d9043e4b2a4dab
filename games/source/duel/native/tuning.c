#include "tuning.h"

#include "blows.h"
#include "mind.h"

#define MOST_CHOICES 8192 /* in a match */

/* The choices of the match in progress. */
static struct {
    u16 noted; /* frame of the latest noted choice, in the opponent's own count */
    u32 choices;
    struct sample chosen[MOST_CHOICES];
    u32 chosen_on[MOST_CHOICES];
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
    match.chosen_on[match.choices++] = blows_frame();
}

static void watch_opponent(u16 pad)
{
    (void)pad;
    note_choice_of(&minds[1]);
    blows_note();
}

/* ---- samples ---- */

static u32 write_samples(const float *weights, u32 frames, struct sample *samples, u32 room)
{
    u32 count = match.choices < room ? match.choices : room;
    u32 first = 0;
    for (u32 i = 0; i < count; i++) {
        samples[i] = match.chosen[i];
        samples[i].gained = blows_gained(1, match.chosen_on[i], &first, weights, frames);
    }
    return count;
}

u32 duel_sample(const struct player *player, const struct setting *settings, u32 matches, const float *weights, u32 frames,
    u16 chance, struct sample *samples, u32 room, struct result *results)
{
    u32 count = 0;
    explores = chance;
    for (u32 i = 0; i < matches; i++) {
        match.choices = 0;
        match.noted = 0;
        blows_begin();
        play_simple(player, &settings[i], watch_opponent, &results[i]);
        count += write_samples(weights, frames, samples + count, room - count);
    }
    explores = 0;
    return count;
}
