#include "creature.h"
#include "battle.h"
#include "chance.h"
#include "hero.h"
#include "modes.h"
#include "world.h"

#define SCENT 7  /* tiles: this near, a creature comes closer at three of four steps */
#define MERCY 60 /* frames */

static struct { u8 stepping, facing, rest; } roaming[CREATURES_HERE];
static u8 mercy;

void creatures_enter(void)
{
    const struct area *area = area_here();
    for (u8 i = 0; i < CREATURES_HERE; i++) {
        const struct spawn *spawn = &spawns[area->first_spawn + i];
        u8 is_there = i < area->spawns && holds(creatures[spawn->creature].when);
        game.creature_kind[i] = is_there ? spawn->creature + 1 : 0;
        game.creature_x[i] = is_there ? spawn->x : 0;
        game.creature_y[i] = is_there ? spawn->y : 0;
        roaming[i].stepping = 0;
        roaming[i].rest = is_there ? creatures[spawn->creature].pace : 0;
    }
    creatures_spare_hero();
}

u8 creature_at(u8 x, u8 y)
{
    for (u8 i = 0; i < CREATURES_HERE; i++)
        if (game.creature_kind[i] && game.creature_x[i] == x && game.creature_y[i] == y)
            return i;
    return NOBODY;
}

void creature_remove(u8 place)
{
    game.creature_kind[place] = 0;
    game.creature_x[place] = game.creature_y[place] = 0;
}

void creatures_spare_hero(void) { mercy = MERCY; }
u8 creature_frames_left(u8 place) { return roaming[place].stepping; }
u8 creature_facing(u8 place) { return roaming[place].facing; }

/* A creature keeps to plain ground, and away from doors and edges. */
static u8 is_free(u8 x, u8 y)
{
    if (x == 0 || y == 0 || x == COLUMNS - 1 || y == ROWS - 1)
        return 0;
    if (is_wall(x, y) || area_here()->ground[y * COLUMNS + x] || door_at(x, y))
        return 0;
    return creature_at(x, y) == NOBODY;
}

static u8 towards_hero(s8 dx, s8 dy)
{
    s8 across = (s8)(dx < 0 ? -dx : dx), along = (s8)(dy < 0 ? -dy : dy);
    if (across > along)
        return dx < 0 ? LEFT : RIGHT;
    return dy < 0 ? UP : DOWN;
}

static void roam(u8 place)
{
    s8 dx = (s8)(game.x - game.creature_x[place]), dy = (s8)(game.y - game.creature_y[place]);
    s8 distance = (s8)((dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy));
    u8 direction = chance_below(DIRECTIONS);
    if (distance <= SCENT && !mercy && chance_below(4))
        direction = towards_hero(dx, dy);
    roaming[place].facing = direction;
    u8 x = (u8)(game.creature_x[place] + step_x[direction]), y = (u8)(game.creature_y[place] + step_y[direction]);
    if (x == game.x && y == game.y) {
        if (!mercy && !hero_frames_left())
            battle_with(place);
    } else if (is_free(x, y)) {
        game.creature_x[place] = x;
        game.creature_y[place] = y;
        roaming[place].stepping = STEP_FRAMES;
    }
}

void creatures_step(void)
{
    if (mercy)
        mercy--;
    for (u8 i = 0; i < CREATURES_HERE; i++) {
        if (!game.creature_kind[i])
            continue;
        if (roaming[i].stepping)
            roaming[i].stepping--;
        else if (roaming[i].rest)
            roaming[i].rest--;
        else {
            roaming[i].rest = creatures[game.creature_kind[i] - 1].pace;
            roam(i);
            if (game.mode == MODE_BATTLE)
                return;
        }
    }
}
