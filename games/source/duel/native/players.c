#include "players.h"

#define MOST_FRAMES 60000 /* of a match */

/* What a player can see of one frame. */
struct view {
    s16 distance;
    s16 height; /* of the enemy above the ground */
    s16 lead;   /* the player's health minus the enemy's */
    u8 enemy_is_left;
    u8 enemy_status, own_status; /* n for STATUS_STAND + 2 * n */
    u8 enemy_frames, own_frames; /* frames since that status began, at most 255 */
};

/* The state of a player in a match. */
struct playing {
    const struct player *player;
    chooser *choose; /* or none: the player's own answers */
    struct view seen[MOST_LATE + 1]; /* a ring buffer */
    u32 frame;
    const struct answer *answer;
    u8 step, left;    /* of the answer: the next step, and the frames left of the present one */
    u8 mirrored;
    u16 held;         /* buttons, or the number of the action */
    u8 action_frame;
};

struct action actions[ACTIONS];

void duel_set_actions(const struct action table[ACTIONS]) { memcpy(actions, table, sizeof actions); }

/* ---- what a player sees ---- */

static u8 frames_of(u8 status, u8 status_before, u8 frames_before)
{
    if (status != status_before)
        return 0;
    return frames_before < 255 ? frames_before + 1 : 255;
}

static struct view *seen_at(struct playing *playing, u32 frame) { return &playing->seen[frame % (MOST_LATE + 1)]; }

/* What the player sees: the frame `late` frames ago, or the first one. */
static const struct view *known(struct playing *playing)
{
    u32 late = playing->player->late;
    return seen_at(playing, playing->frame > late ? playing->frame - late : 0);
}

/* ---- what a player decides ---- */

static u8 holds(const struct condition *condition, const struct view *view)
{
    switch (condition->feature) {
    case DISTANCE:
        return view->distance < condition->below;
    case HEIGHT:
        return view->height < condition->below;
    case ENEMY_FRAMES:
        return view->enemy_frames < condition->below;
    case OWN_FRAMES:
        return view->own_frames < condition->below;
    case LEAD:
        return view->lead < condition->below;
    case ENEMY_IS:
        return condition->below >> view->enemy_status & 1;
    default:
        return condition->below >> view->own_status & 1;
    }
}

static u8 cell_of_rule(const struct player *player, const struct view *view)
{
    u8 cell = 0;
    for (u8 i = 0; i < player->conditions; i++)
        cell = (u8)(2 * cell + holds(&player->condition[i], view));
    return cell;
}

static u8 cell_of_table(const struct player *player, const struct view *view)
{
    u8 band = 0;
    while (band < DISTANCE_BANDS - 1 && view->distance >= player->distance_edge[band])
        band++;
    u8 group = player->status_group[view->enemy_status];
    u8 is_high = view->height >= player->height_edge;
    return (u8)((band * STATUS_GROUPS + group) * HEIGHT_BANDS + is_high);
}

static u8 cell_of(const struct player *player, const struct view *view)
{
    switch (player->kind) {
    case RULE:
        return cell_of_rule(player, view);
    case TABLE:
        return cell_of_table(player, view);
    default:
        return 0; /* a loop has one answer */
    }
}

static const struct answer *decide(const struct playing *playing, const struct view *view)
{
    const struct player *player = playing->player;
    u8 cell = cell_of(player, view);
    return playing->choose ? playing->choose(cell) : &player->answer[cell];
}

/* ---- what a player holds ---- */

/* Begin the next step, or a new answer if none is left. A loop looks for the enemy's side at each step, the
   other kinds at each answer. */
static void next_step(struct playing *playing)
{
    const struct player *player = playing->player;
    u8 is_over = !playing->answer || playing->step >= playing->answer->steps;
    if (is_over) {
        playing->answer = decide(playing, known(playing));
        playing->step = 0;
    }
    if (player->knows_side && (is_over || player->kind == LOOP))
        playing->mirrored = known(playing)->enemy_is_left;
    const struct player_step *step = &playing->answer->step[playing->step++];
    playing->held = step->held;
    playing->left = step->frames;
}

static u16 pad_of_action(struct playing *playing)
{
    if (playing->frame % playing->player->interval == 0) {
        next_step(playing);
        if (playing->mirrored)
            playing->held = actions[playing->held].mirrored;
        playing->action_frame = 0;
    }
    const struct action *action = &actions[playing->held];
    u16 held = action->held[playing->action_frame];
    if (playing->action_frame < action->frames - 1)
        playing->action_frame++;
    return held;
}

static u16 pad_of_step(struct playing *playing)
{
    if (playing->left == 0)
        next_step(playing);
    playing->left--;
    u16 pad = playing->held & PAD_ALL;
    if (playing->held & HOLD_FORWARD)
        pad |= playing->mirrored ? PAD_LEFT : PAD_RIGHT;
    if (playing->held & HOLD_BACK)
        pad |= playing->mirrored ? PAD_RIGHT : PAD_LEFT;
    return pad;
}

/* Record what is published now. */
static void look(struct playing *playing)
{
    static const struct view nothing;
    const struct view *before = playing->frame ? seen_at(playing, playing->frame - 1) : &nothing;
    struct view *now = seen_at(playing, playing->frame);
    now->distance = distance((s16)AGENT_X, (s16)ENEMY_X);
    now->height = (s16)(pixels(GROUND) - ENEMY_Y);
    now->lead = (s16)((s16)AGENT_HP - (s16)ENEMY_HP);
    now->enemy_is_left = ENEMY_X < AGENT_X;
    now->enemy_status = (u8)((ENEMY_STATUS - STATUS_STAND) / 2);
    now->own_status = (u8)((AGENT_STATUS - STATUS_STAND) / 2);
    now->enemy_frames = frames_of(now->enemy_status, before->enemy_status, before->enemy_frames);
    now->own_frames = frames_of(now->own_status, before->own_status, before->own_frames);
}

/* The buttons that the player holds on the next frame. */
static u16 player_pad(void *who)
{
    struct playing *playing = who;
    look(playing);
    u16 pad = playing->player->interval ? pad_of_action(playing) : pad_of_step(playing);
    playing->frame++;
    return pad;
}

/* ---- matches ---- */

static u16 health_lost(u8 side)
{
    s16 hp = game.fighters[side].hp;
    return (u16)(FULL_HP - (hp < 0 ? 0 : hp));
}

/* The multipliers are odd and have irregular bits, so that the hash depends on the order of frames. */
static u32 traced(u32 trace)
{
    const struct fighter *agent = &game.fighters[0], *enemy = &game.fighters[1];
    trace = (trace ^ (u32)(agent->x << 16 | (u16)enemy->x)) * 0x9E3779B1u;
    return (trace ^ (u32)(agent->hp << 16 | (u16)enemy->hp)) * 0x85EBCA77u;
}

/* Count a round that has just ended. */
static void count_round(struct result *result)
{
    result->rounds++;
    result->dealt = (u16)(result->dealt + health_lost(1));
    result->taken = (u16)(result->taken + health_lost(0));
    result->time_outs = (u8)game.time_outs;
}

static void watch_nothing(u16 pad) { (void)pad; }

void play_match(holder *holds, void *who, const struct setting *setting, watcher *watch, struct result *result)
{
    memset(result, 0, sizeof *result);
    game_begin(setting);
    while (result->frames < MOST_FRAMES && !game_is_decided()) {
        u16 phase = game.phase;
        u16 pad = holds(who);
        game_frame(pad, 0);
        watch(pad);
        result->frames++;
        result->trace = traced(result->trace);
        if (phase == PHASE_FIGHT && game.phase == PHASE_ROUND_OVER)
            count_round(result);
    }
    for (u8 side = 0; side < SIDES; side++) {
        result->victories[side] = game.victories[side];
        result->landed[side] = game.fighters[side].landed;
    }
}

void play_simple(const struct player *player, const struct setting *setting, watcher *watch, struct result *result)
{
    struct playing playing = {.player = player};
    play_match(player_pad, &playing, setting, watch, result);
}

void play_choosing(const struct player *player, chooser *choose, const struct setting *setting, watcher *watch, struct result *result)
{
    struct playing playing = {.player = player, .choose = choose};
    play_match(player_pad, &playing, setting, watch, result);
}

void duel_play(const struct player *players, u32 count, const struct setting *settings, u32 matches, struct result *results)
{
    for (u32 i = 0; i < count; i++)
        for (u32 n = 0; n < matches; n++)
            play_simple(&players[i], &settings[n], watch_nothing, results++);
}

static struct {
    u16 *pads;
    u32 frames, room;
} recording;

void record_into(u16 *pads, u32 room)
{
    recording.pads = pads;
    recording.room = room;
    recording.frames = 0;
}

void note_pad(u16 pad)
{
    if (recording.frames < recording.room)
        recording.pads[recording.frames] = pad;
    recording.frames++;
}

u32 duel_record(const struct player *player, const struct setting *setting, u16 *pads, u32 most_frames, struct result *result)
{
    record_into(pads, most_frames);
    play_simple(player, setting, note_pad, result);
    return result->frames;
}
