/* The types of the data that gen_art.py writes. */
#ifndef ART_TYPES_H
#define ART_TYPES_H

#include "characters.h"
#include "published.h"
#include "build/art.h"

struct pose {
    u16 tile;        /* its first tile in art_tiles */
    s8 left, top;    /* of the picture, from the fighter's centre on the floor, facing right; pixels */
    u8 columns, rows;
};

struct stage_art {
    const char *name;
    u16 tile, tiles;
    const u16 *plane;  /* 64 x 28 */
    u16 colours[16];
};

#define TILE_LONGS 8

extern const u32 art_tiles[][TILE_LONGS]; /* art.S */
extern const u32 ui_tiles_at, effect_tiles_at, logo_tiles_at;
extern const struct pose poses[CHARACTERS][POSES];
extern const u16 character_colours[CHARACTERS][16];
extern const u16 hud_colours[16];
extern const struct stage_art stage_art[STAGES];

#endif
