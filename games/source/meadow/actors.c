/* The sprites of an area: the hero, people and other things, creatures. Who stands lower is in front. */
#include "actors.h"
#include "art.h"
#include "creature.h"
#include "hero.h"
#include "video.h"
#include "world.h"

#define TILES_A_FRAME 2
#define MOST_ACTORS (1 + THINGS_HERE + CREATURES_HERE)
#define HERO_SPRITE 0
#define MOVE_FRAMES 16

struct actor { s16 x, y; u16 tile; u8 mirrored; };

static struct actor actors[MOST_ACTORS];
static u8 count;

/* Insert an actor so that those who stand lower come first. */
static void add(s16 x, s16 y, u16 tile, u8 mirrored)
{
    u8 place = count++;
    while (place && actors[place - 1].y < y) {
        actors[place] = actors[place - 1];
        place--;
    }
    actors[place] = (struct actor){x, y, tile, mirrored};
}

/* Where something is that still has some pixels to go to its tile. */
static s16 pixel(u8 tile, s8 step, u8 pixels_left) { return (s16)(tile * 8 - step * pixels_left); }

static void add_person(u8 sprite, u8 x, u8 y, u8 facing, u8 pixels_left)
{
    static const u8 frames[DIRECTIONS] = {0, 2, 4, 4};
    u8 walks = pixels_left > 3;
    u8 mirrored = facing == LEFT;
    if (facing < LEFT)
        mirrored = walks && ((x + y) & 1); /* the other leg */
    u16 tile = (u16)(art_sprite_first_tile[sprite] + (frames[facing] + walks) * TILES_A_FRAME);
    add(pixel(x, step_x[facing], pixels_left), pixel(y, step_y[facing], pixels_left), tile, mirrored);
}

static void add_thing(const struct present *there)
{
    u8 sprite = things[there->number].sprite;
    if (sprite < PERSON_SPRITES)
        add_person(sprite, there->x, there->y, there->facing, there->stepping / (MOVE_FRAMES / 8));
    else
        add((s16)(there->x * 8), (s16)(there->y * 8), art_sprite_first_tile[sprite], 0);
}

static void add_creature(u8 place)
{
    u8 kind = (u8)(game.creature_kind[place] - 1), facing = creature_facing(place), left = creature_frames_left(place);
    u16 tile = (u16)(art_sprite_first_tile[creatures[kind].sprite] + (game.frame >> 4 & 1) * TILES_A_FRAME);
    s16 x = pixel(game.creature_x[place], step_x[facing], left), y = pixel(game.creature_y[place], step_y[facing], left);
    add(x, y, tile, facing == LEFT);
}

void actors_draw(void)
{
    count = 0;
    add_person(HERO_SPRITE, game.x, game.y, game.facing, hero_frames_left());
    for (u8 i = 0; i < THINGS_HERE; i++)
        if (present[i].number != NOBODY)
            add_thing(&present[i]);
    for (u8 i = 0; i < CREATURES_HERE; i++)
        if (game.creature_kind[i])
            add_creature(i);
    video_no_sprites();
    for (u8 i = 0; i < count; i++)
        video_small_sprite(actors[i].x, (s16)(actors[i].y + STATUS_ROWS * 8 - 8), actors[i].tile, actors[i].mirrored);
}
