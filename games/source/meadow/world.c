/* The area that the hero is in: what of it is there now, and where nobody can go. */
#include "world.h"
#include "creature.h"
#include "hero.h"
#include "video.h"

#define FLAG_CODES 64 /* codes of conditions: flags from 1, then items, then these */
#define ITEM_CODES 16
enum { NIGHT = FLAG_CODES + ITEM_CODES, TIMER_RUNS, BEEN_EVERYWHERE };
#define ALL_AREAS ((u32)((1ull << AREAS) - 1))
#define NEGATED 0x80
#define DAWN (6 * 60)
#define NIGHTFALL (20 * 60)

const s8 step_x[DIRECTIONS] = {0, 0, -1, 1}, step_y[DIRECTIONS] = {1, -1, 0, 0};
struct present present[THINGS_HERE];

u8 is_night(void) { return game.clock < DAWN || game.clock >= NIGHTFALL; }

static u8 is_so(u8 code)
{
    if (code < FLAG_CODES)
        return (u8)(game.flags >> code & 1);
    if (code < FLAG_CODES + ITEM_CODES)
        return game.item[code - FLAG_CODES] > 0;
    switch (code) {
    case NIGHT: return is_night();
    case TIMER_RUNS: return game.timer > 0;
    default: return game.areas_seen == ALL_AREAS;
    }
}

u8 holds(u16 condition)
{
    for (const u8 *code = conditions + condition; *code; code++)
        if (is_so((u8)((*code & ~NEGATED) - 1)) == (*code & NEGATED) >> 7)
            return 0;
    return 1;
}

u8 steps_done(u8 quest)
{
    const struct step *step = &steps[quests[quest].first_step];
    u8 done = 0;
    while (done < quests[quest].steps && game.flags >> step[done].flag & 1)
        done++;
    return done;
}

const struct door *door_at(u8 x, u8 y)
{
    const struct area *area = area_here();
    for (u8 i = 0; i < area->doors; i++) {
        const struct door *door = &doors[area->first_door + i];
        if (door->x == x && door->y == y)
            return door;
    }
    return NULL;
}

struct present *thing_at(u8 x, u8 y)
{
    for (u8 i = 0; i < THINGS_HERE; i++)
        if (present[i].number != NOBODY && present[i].x == x && present[i].y == y)
            return &present[i];
    return NULL;
}

/* Nobody can walk onto solid ground, onto a thing, or through a door that is locked. */
static void find_walls(void)
{
    const struct area *area = area_here();
    for (u8 y = 0; y < ROWS; y++) {
        u32 walls = 0, hazards = 0;
        for (u8 x = 0; x < COLUMNS; x++) {
            u8 ground = area->ground[y * COLUMNS + x];
            walls |= (u32)((ground & SOLID) != 0) << x;
            hazards |= (u32)((ground & HURTS) != 0) << x;
        }
        game.wall[y] = walls;
        game.hazard[y] = hazards;
    }
    for (u8 i = 0; i < THINGS_HERE; i++)
        if (present[i].number != NOBODY)
            game.wall[present[i].y] |= 1u << present[i].x;
    for (u8 i = 0; i < area->doors; i++) {
        const struct door *door = &doors[area->first_door + i];
        if (!holds(door->needs))
            game.wall[door->y] |= 1u << door->x;
    }
}

static void publish_things(void)
{
    const struct area *area = area_here();
    for (u8 i = 0; i < THINGS_HERE; i++) {
        u8 is_there = present[i].number != NOBODY;
        game.thing_id[i] = is_there ? present[i].number + 1 : 0;
        game.thing_kind[i] = is_there ? things[present[i].number].sprite + 1 : 0;
        game.thing_x[i] = is_there ? present[i].x : 0;
        game.thing_y[i] = is_there ? present[i].y : 0;
    }
    for (u8 i = 0; i < DOORS_HERE; i++) {
        const struct door *door = &doors[area->first_door + i];
        u8 is_there = i < area->doors;
        game.exit_x[i] = is_there ? door->x : 0;
        game.exit_y[i] = is_there ? door->y : 0;
        game.exit_area[i] = is_there ? door->area : NOWHERE;
        game.exit_open[i] = is_there && holds(door->needs);
    }
}

/* What is there depends on what was done. Who has been moved stays where he is. */
void refresh_things(void)
{
    const struct area *area = area_here();
    for (u8 i = 0; i < THINGS_HERE; i++) {
        u8 number = (u8)(area->first_thing + i);
        if (i >= area->things || !holds(things[number].shown_if)) {
            present[i].number = NOBODY;
        } else if (present[i].number != number) {
            const struct thing *thing = &things[number];
            present[i] = (struct present){number, thing->x, thing->y, thing->facing, 0};
        }
    }
    find_walls();
    publish_things();
}

void enter_area(const struct place *place)
{
    game.area = place->area;
    game.x = place->x;
    game.y = place->y;
    game.facing = place->facing;
    game.areas_seen |= 1u << place->area;
    for (u8 i = 0; i < THINGS_HERE; i++)
        present[i].number = NOBODY;
    for (u8 i = 0; i < DIRECTIONS; i++)
        game.edge_area[i] = area_here()->edge[i];
    refresh_things();
    hero_stop();
    creatures_enter();
    video_draw_area();
    video_fade_in();
}
