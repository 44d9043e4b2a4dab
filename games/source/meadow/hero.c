#include "hero.h"
#include "battle.h"
#include "creature.h"
#include "modes.h"
#include "script.h"
#include "world.h"

static u8 stepping; /* frames left */

void hero_stop(void) { stepping = 0; }
u8 hero_frames_left(void) { return stepping; }

void hero_heal(u8 points) { game.hp = game.hp + points > game.max_hp ? game.max_hp : (u8)(game.hp + points); }

u8 hero_hurt(u8 points)
{
    if (points < game.hp) {
        game.hp = (u8)(game.hp - points);
        return 0;
    }
    game.hp = game.max_hp;
    game.money /= 2;
    if (game.deaths < 255)
        game.deaths++;
    enter_area(&after_death);
    say("Everything goes dark. You\nwake up at home. Half of\nyour coins are gone.");
    return 1;
}

/* Over the edge of the map lies the opposite side of another one. */
static void cross_edge(u8 direction)
{
    u8 next = area_here()->edge[direction];
    if (next == NOWHERE)
        return;
    struct place place = {next, game.x, game.y, direction};
    switch (direction) {
    case DOWN: place.y = 0; break;
    case UP: place.y = ROWS - 1; break;
    case LEFT: place.x = COLUMNS - 1; break;
    default: place.x = 0;
    }
    enter_area(&place);
}

static void walk(u8 direction)
{
    game.facing = direction;
    s8 x = (s8)(game.x + step_x[direction]), y = (s8)(game.y + step_y[direction]);
    if (x < 0 || x >= COLUMNS || y < 0 || y >= ROWS) {
        cross_edge(direction);
        return;
    }
    const struct door *door = door_at((u8)x, (u8)y);
    if (is_wall((u8)x, (u8)y)) {
        if (door && !thing_at((u8)x, (u8)y))
            script_start(door->refusal);
        return;
    }
    u8 creature = creature_at((u8)x, (u8)y);
    if (creature != NOBODY) {
        battle_with(creature);
        return;
    }
    game.x = (u8)x;
    game.y = (u8)y;
    stepping = STEP_FRAMES;
}

static void arrive(void)
{
    const struct door *door = door_at(game.x, game.y);
    if (door) {
        struct place place = {door->area, door->to_x, door->to_y, door->facing};
        enter_area(&place);
        return;
    }
    u8 ground = area_here()->ground[game.y * COLUMNS + game.x];
    if (ground & HEALS)
        game.hp = game.max_hp;
    if (ground & HURTS)
        hero_hurt(1);
}

/* Run the first rule of what is in front whose conditions hold. */
static void talk(void)
{
    struct present *there = thing_at((u8)(game.x + step_x[game.facing]), (u8)(game.y + step_y[game.facing]));
    if (!there)
        return;
    static const u8 towards[DIRECTIONS] = {UP, DOWN, RIGHT, LEFT};
    there->facing = towards[game.facing];
    const struct thing *thing = &things[there->number];
    for (u8 i = 0; i < thing->rules; i++) {
        const struct rule *rule = &rules[thing->first_rule + i];
        if (holds(rule->condition)) {
            script_start(rule->script);
            return;
        }
    }
}

void hero_step(u16 held, u16 pressed)
{
    if (stepping) {
        if (--stepping == 0)
            arrive();
        return;
    }
    if (pressed & PAD_A)
        talk();
    else if (held & PAD_DOWN)
        walk(DOWN);
    else if (held & PAD_UP)
        walk(UP);
    else if (held & PAD_LEFT)
        walk(LEFT);
    else if (held & PAD_RIGHT)
        walk(RIGHT);
}
