#include "video.h"
#include "art.h"
#include "published.h"
#include "world.h"

#define TEXT_MAP 28
#define AREA_MAP 29
#define TEXT_TILES 0 /* blocks of tiles */
#define AREA_TILES 1
#define MAP_WIDTH 32
#define MAP_ROWS 32
#define ANIMATION_PACE 16 /* frames */
#define DARKEST 16
#define DARKEN_ALL_BUT_TEXT 0x00F2
#define TALL 0x8000
#define SIZE_32 0x8000
#define MIRRORED 0x1000
#define BEHIND_TEXT 0x0400
#define HIDDEN 0x0200
#define SHOWN_SPRITES 16
#define LOGO_TILES LETTERS_END

_Static_assert(LETTERS_END == LETTER_TILES, "the text layer's tiles");

static u16 sprites[SHOWN_SPRITES][3];
static u8 sprite_count, sprites_before, darkness, shown_phase;

enum { DAY, DUSK, NIGHT, DAWN };

static void copy(volatile u32 *to, const u32 *from, u32 words)
{
    while (words--)
        *to++ = *from++;
}

/* ---- colours ---- */

static u8 phase_now(void)
{
    u8 hour = (u8)(game.clock / 60);
    if (!area_here()->outdoors)
        return DAY;
    if (hour < 5 || hour >= 20)
        return NIGHT;
    if (hour < 7)
        return DAWN;
    return hour < 18 ? DAY : DUSK;
}

static void load_phase(u8 phase)
{
    for (u8 palette = 0; palette < MAP_PALETTES; palette++)
        for (u8 colour = 0; colour < 16; colour++)
            COLOURS[(palette + 1) * 16 + colour] = art_phases[phase][palette][colour];
    for (u8 colour = 0; colour < 16; colour++)
        SPRITE_COLOURS[colour] = art_phases[phase][MAP_PALETTES][colour];
    shown_phase = phase;
}

/* ---- start ---- */

void video_start(void)
{
    copy(TILE_BLOCK(TEXT_TILES), art_letters, LETTER_TILES * 8);
    copy(TILE_BLOCK(TEXT_TILES) + LOGO_TILES * 8, art_logo, LOGO_COLUMNS * LOGO_ROWS * 8);
    copy(TILE_BLOCK(AREA_TILES), art_animated, ANIMATED_TILES * 8);
    copy(TILE_BLOCK(AREA_TILES) + ANIMATED_TILES * 8, art_still, STILL_TILES * 8);
    copy(SPRITE_TILE_BLOCK, art_sprites, SPRITE_TILES * 8);
    copy(SPRITE_TILE_BLOCK + SPRITE_TILES * 8, art_portraits, PORTRAITS * PORTRAIT_TILES * 8);
    for (u8 colour = 0; colour < 16; colour++)
        COLOURS[colour] = art_letter_colours[colour];
    load_phase(DAY);
    video_clear_text(0, MAP_ROWS);
    for (u8 sprite = 0; sprite < MOST_SPRITES; sprite++)
        SPRITE_TABLE[sprite * 4] = HIDDEN;
    BACKGROUND_0_CONTROL = BACKGROUND_MAP(TEXT_MAP) | BACKGROUND_TILES(TEXT_TILES) | BEHIND(0);
    BACKGROUND_1_CONTROL = BACKGROUND_MAP(AREA_MAP) | BACKGROUND_TILES(AREA_TILES) | BEHIND(2);
    DISPLAY_CONTROL = DISPLAY_BACKGROUND_0 | DISPLAY_BACKGROUND_1 | DISPLAY_SPRITES | DISPLAY_SPRITES_IN_A_ROW;
}

/* ---- the layers ---- */

void video_letter(u8 column, u8 row, u16 tile) { MAP_BLOCK(TEXT_MAP)[row * MAP_WIDTH + column] = tile; }

void video_clear_text(u8 first_row, u8 rows)
{
    for (u16 cell = 0; cell < rows * MAP_WIDTH; cell++)
        MAP_BLOCK(TEXT_MAP)[first_row * MAP_WIDTH + cell] = CLEAR;
}

void video_draw_logo(u8 column, u8 row)
{
    for (u8 y = 0; y < LOGO_ROWS; y++)
        for (u8 x = 0; x < LOGO_COLUMNS; x++)
            video_letter((u8)(column + x), (u8)(row + y), (u16)(LOGO_TILES + y * LOGO_COLUMNS + x));
}

/* The first rows are there twice: the title has no status lines. */
void video_draw_area(void)
{
    const u16 *cells = area_here()->cells;
    for (u8 y = 0; y < STATUS_ROWS + ROWS; y++) {
        const u16 *cell = cells + (y < STATUS_ROWS ? y : y - STATUS_ROWS) * COLUMNS;
        for (u8 x = 0; x < COLUMNS; x++)
            MAP_BLOCK(AREA_MAP)[y * MAP_WIDTH + x] = *cell++;
    }
}

/* Where a battle takes place: the area's ground, without end. */
void video_draw_backdrop(u16 cell)
{
    for (u8 y = 0; y < ROWS; y++)
        for (u8 x = 0; x < COLUMNS; x++)
            MAP_BLOCK(AREA_MAP)[(y + STATUS_ROWS) * MAP_WIDTH + x] = cell;
}

void video_fade_in(void) { darkness = DARKEST; }

/* ---- sprites ---- */

void video_no_sprites(void) { sprite_count = 0; }

static void add_sprite(u16 first, u16 second, u16 third)
{
    if (sprite_count == SHOWN_SPRITES)
        return;
    sprites[sprite_count][0] = first;
    sprites[sprite_count][1] = second;
    sprites[sprite_count++][2] = third;
}

void video_small_sprite(s16 x, s16 y, u16 tile, u8 mirrored)
{
    add_sprite((u16)((y & 0xFF) | TALL), (u16)((x & 0x1FF) | (mirrored ? MIRRORED : 0)), (u16)(tile | BEHIND_TEXT));
}

void video_portrait(s16 x, s16 y, u8 number)
{
    u16 tile = (u16)(SPRITE_TILES + number * PORTRAIT_TILES);
    add_sprite((u16)(y & 0xFF), (u16)((x & 0x1FF) | SIZE_32), (u16)(tile | BEHIND_TEXT));
}

/* ---- every frame, in the vertical blank ---- */

void video_frame(void)
{
    for (u8 i = 0; i < sprite_count; i++)
        for (u8 part = 0; part < 3; part++)
            SPRITE_TABLE[i * 4 + part] = sprites[i][part];
    for (u8 i = sprite_count; i < sprites_before; i++)
        SPRITE_TABLE[i * 4] = HIDDEN;
    sprites_before = sprite_count;
    if (game.frame % ANIMATION_PACE == 0) {
        u32 frame = game.frame / ANIMATION_PACE % ANIMATION_FRAMES;
        copy(TILE_BLOCK(AREA_TILES), art_animated + frame * ANIMATED_TILES * 8, ANIMATED_TILES * 8);
    }
    u8 phase = phase_now();
    if (phase != shown_phase)
        load_phase(phase);
    if (darkness)
        darkness -= 2;
    BLEND_CONTROL = darkness ? DARKEN_ALL_BUT_TEXT : 0;
    BLEND_BRIGHTNESS = darkness;
}
