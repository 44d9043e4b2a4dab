#include "video.h"
#include "art_types.h"
#include "rules.h"

/* ---- where things are in video RAM ---- */
#define PLANE_A 0xC000u
#define SPRITES_AT 0xD800u
#define SCROLL_AT 0xDC00u
#define PLANE_B 0xE000u
#define PLANE_COLUMNS 64

#define TILE_UI 0
#define TILE_FIGHTER 208   /* two slots */
#define FIGHTER_SLOT 104
#define TILE_EFFECTS 416
#define TILE_STAGE 592
#define TILE_LOGO 1200     /* loaded while the title is shown, blank otherwise to keep save states small */
#define LOGO_TILES (LOGO_COLUMNS * LOGO_ROWS)
_Static_assert(UI_TILES <= TILE_FIGHTER, "the letters run into the fighters");
_Static_assert(MOST_POSE_TILES <= FIGHTER_SLOT, "a pose is too big for its slot");
_Static_assert(TILE_EFFECTS + EFFECT_TILES <= TILE_STAGE, "the effects run into the stage");
_Static_assert(TILE_STAGE + MOST_STAGE_TILES <= TILE_LOGO, "the stage runs into the logo");
_Static_assert((TILE_LOGO + LOGO_TILES) * 32 <= PLANE_A, "the logo runs into the planes");

#define PRIORITY 0x8000
#define PALETTE(n) ((n) << 13)
#define PALETTE_STAGE 3

#define DISPLAY_ON 0x74    /* picture, vertical interrupt, DMA */
#define DISPLAY_OFF 0x34

#define TILE_PIXELS 8
#define VIEW_ROWS 28
#define HORIZON_ROW 21     /* first row of the floor */
#define VIEW_TOP_OF_FLOOR 192 /* the screen line of the fighters' feet */
#define ARENA 512
#define HALF_A_MAP (PLANE_COLUMNS * VIEW_ROWS / 2)
#define DMA_WINDOW 0x20000u /* a DMA transfer cannot cross a multiple of this in ROM */

static u16 shown_pose[SIDES];
static u16 sprites;
static u8 letter_tiles[256]; /* by character; blank if it has no tile */

/* ---- transfers ---- */

static void transfer(u32 from, u32 to, u16 bytes)
{
    u16 length = bytes >> 1;
    vdp_register(19, (u8)length);
    vdp_register(20, (u8)(length >> 8));
    vdp_register(21, (u8)(from >> 1));
    vdp_register(22, (u8)(from >> 9));
    vdp_register(23, (u8)((from >> 17) & 0x7F));
    VDP_CONTROL_LONG = 0x40000080u | ((to & 0x3FFF) << 16) | (to >> 14);
}

static void load_tiles(u16 to_tile, u32 art_tile, u16 tiles)
{
    u32 from = (u32)art_tiles[art_tile], to = (u32)to_tile * 32, bytes = (u32)tiles * 32;
    u32 room = DMA_WINDOW - (from & (DMA_WINDOW - 1));
    if (bytes > room) {
        transfer(from, to, (u16)room);
        transfer(from + room, to + room, (u16)(bytes - room));
    } else {
        transfer(from, to, (u16)bytes);
    }
}

static void load_colours(u8 line, const u16 *colours)
{
    vdp_to_colours((u16)(line * 32));
    for (u8 i = 0; i < 16; i++)
        VDP_DATA = colours[i];
}

/* Clear an even number of words, two at a time: a frame in which both opponents choose has no time to spare. */
static void clear(u32 to, u16 words)
{
    vdp_to_video_ram(to);
    for (u16 pairs = words / 2; pairs > 0; pairs--)
        VDP_DATA_LONG = 0;
}

/* ---- text ---- */

/* A look-up table: searching FONT_LETTERS for every character of a screen would take most of a frame. */
static void find_letters(void)
{
    static const char letters[] = FONT_LETTERS;
    for (u8 i = 0; letters[i]; i++)
        letter_tiles[(u8)letters[i]] = (u8)(TILE_UI + UI_FONT + i);
}

static void to_cell(u8 column, u8 row) { vdp_to_video_ram(PLANE_A + ((u32)row * PLANE_COLUMNS + column) * 2); }

void video_tile(u8 column, u8 row, u16 tile)
{
    to_cell(column, row);
    VDP_DATA = PRIORITY | tile;
}

void video_text(u8 column, u8 row, const char *text)
{
    to_cell(column, row);
    while (*text)
        VDP_DATA = (u16)(PRIORITY | letter_tiles[(u8)*text++]);
}

void video_text_centred(u8 row, const char *text)
{
    u8 length = 0;
    while (text[length])
        length++;
    video_text((u8)((TEXT_COLUMNS - length) / 2), row, text);
}

void video_load_logo(u8 wanted)
{
    if (wanted)
        load_tiles(TILE_LOGO, logo_tiles_at, LOGO_TILES);
    else
        clear((u32)TILE_LOGO * 32, LOGO_TILES * 16);
}

void video_clear_text(void) { clear(PLANE_A, PLANE_COLUMNS * VIEW_ROWS); }

void video_logo(u8 column, u8 row)
{
    for (u8 y = 0; y < LOGO_ROWS; y++) {
        to_cell(column, (u8)(row + y));
        for (u8 x = 0; x < LOGO_COLUMNS; x++)
            VDP_DATA = (u16)(PRIORITY | (TILE_LOGO + y * LOGO_COLUMNS + x));
    }
}

/* ---- set-up ---- */

void video_show(u8 on) { vdp_register(1, on ? DISPLAY_ON : DISPLAY_OFF); }

void video_widen(u8 wide) { vdp_register(12, wide ? 0x81 : 0); }

void video_init(void)
{
    static const u8 registers[] = {
        0x04, DISPLAY_OFF, PLANE_A >> 10, 0, PLANE_B >> 13, SPRITES_AT >> 9, 0, 0, 0, 0, 0xFF,
        0x02 /* a scroll value for each row of tiles */, 0x81 /* 320 wide */, SCROLL_AT >> 10, 0, 2, 0x01 /* planes of 64 x 32 */, 0, 0,
    };
    for (u8 i = 0; i < sizeof registers; i++)
        vdp_register(i, registers[i]);
    clear(0, 0x8000);
    vdp_to_scroll(0);
    VDP_DATA_LONG = 0;
    load_tiles(TILE_UI, ui_tiles_at, UI_TILES);
    load_tiles(TILE_EFFECTS, effect_tiles_at, EFFECT_TILES);
    load_colours(0, hud_colours);
    find_letters();
    shown_pose[0] = shown_pose[1] = 0xFFFF;
}

void video_load_stage(u8 stage)
{
    const struct stage_art *art = &stage_art[stage];
    load_tiles(TILE_STAGE, art->tile, art->tiles);
    load_colours(PALETTE_STAGE, art->colours);
}

void video_load_half_a_map(u8 stage, u8 lower)
{
    u16 first = lower ? HALF_A_MAP : 0;
    vdp_to_video_ram(PLANE_B + (u32)first * 2);
    /* by a pointer: a frame in which both opponents choose has no time to look up the stage for each cell */
    const u16 *cell = stage_art[stage].plane + first;
    for (u16 left = HALF_A_MAP; left > 0; left--)
        VDP_DATA = (u16)(PALETTE(PALETTE_STAGE) + TILE_STAGE + *cell++);
}

void video_load_colours(u8 side, u8 character, u8 alike)
{
    u16 colours[16];
    for (u8 i = 0; i < 16; i++)
        colours[i] = character_colours[character][i];
    if (alike) { /* swap red and blue in the suit, hair and trim */
        for (u8 i = 5; i < 12; i++)
            colours[i] = (u16)((colours[i] & 0x00E0) | ((colours[i] >> 8) & 0xE) | ((colours[i] & 0xE) << 8));
        colours[0] = 0;
    }
    load_colours((u8)(side + 1), colours);
    shown_pose[side] = 0xFFFF;
}

/* ---- sprites ---- */

static void sprite(s16 x, s16 y, u8 columns, u8 rows, u16 attributes)
{
    VDP_DATA = (u16)(y + 128);
    VDP_DATA = (u16)((((columns - 1) << 2 | (rows - 1)) << 8) | (sprites + 1));
    VDP_DATA = attributes;
    VDP_DATA = (u16)((x + 128) & 0x1FF);
    sprites++;
}

/* Draw a picture as sprites of at most 4 x 4 tiles each; x is the centre of its owner. */
static void picture(s16 x, s16 y, const struct pose *p, u8 mirrored, u16 attributes)
{
    u16 tile = attributes;
    for (u8 top = 0; top < p->rows; top = (u8)(top + 4)) {
        u8 rows = p->rows - top < 4 ? (u8)(p->rows - top) : 4;
        for (u8 left = 0; left < p->columns; left = (u8)(left + 4)) {
            u8 columns = p->columns - left < 4 ? (u8)(p->columns - left) : 4;
            s16 from = (s16)(p->left + left * TILE_PIXELS);
            s16 at = (s16)(mirrored ? x - from - columns * TILE_PIXELS : x + from);
            if (at > -32 && at < VIEW_WIDTH)
                sprite(at, (s16)(y + p->top + top * TILE_PIXELS), columns, rows, (u16)(tile | (mirrored ? FLIPPED : 0)));
            tile = (u16)(tile + columns * rows);
        }
    }
}

static u8 attack_pose(const struct fighter *f)
{
    const struct move *move = move_of(f);
    u8 strikes = f->frame + 1 >= move->startup && f->frame < move->startup + move->active + move->recovery / 3;
    return strikes ? move->strike_pose : move->windup_pose;
}

static u8 pose_of(const struct fighter *f)
{
    static const u8 stands[] = {POSE_STAND_1, POSE_STAND_2, POSE_STAND_3, POSE_STAND_2};
    static const u8 walks[] = {POSE_WALK_1, POSE_WALK_2, POSE_WALK_1, POSE_WALK_3};
    u16 held = f->input.held;
    switch (f->state) {
    case FREE:
        if (f->crouches)
            return POSE_CROUCH;
        if (game.phase == PHASE_FIGHT && (held & (PAD_LEFT | PAD_RIGHT)))
            return walks[(f->walks >> 2) & 3];
        return stands[(FRAME >> 3) & 3];
    case RISING_UP:
    case LANDING:
        return POSE_CROUCH;
    case AIR:
        if (f->move)
            return attack_pose(f);
        return f->vy < -40 || f->vy > 70 ? POSE_JUMP : POSE_JUMP_TUCK;
    case ATTACK:
        if (f->move == MOVE_THROW)
            return f->frame < 10 ? POSE_GRAB : POSE_THROW;
        if (f->move == MOVE_RISING && f->frame > 24)
            return f->y < GROUND ? POSE_JUMP_TUCK : POSE_CROUCH;
        return attack_pose(f);
    case HIT:
        return f->crouches ? POSE_CROUCH_HIT : POSE_HIT;
    case BLOCK:
        return f->crouches ? POSE_CROUCH_GUARD : POSE_GUARD;
    case FALLING:
        return POSE_FALL;
    case LYING:
        return POSE_LIE;
    case STANDING_UP:
        return POSE_GET_UP;
    case HELD:
        return POSE_HIT;
    default:
        return f->y < GROUND ? POSE_JUMP : (f->frame >> 4) & 1 ? POSE_WIN_1 : POSE_WIN_2;
    }
}

static void draw_fighter(u8 side, s16 camera)
{
    const struct fighter *f = &game.fighters[side];
    u16 tile = (u16)(TILE_FIGHTER + side * FIGHTER_SLOT);
    const struct pose *p = &poses[f->character][shown_pose[side]];
    picture((s16)(pixels(f->x) - camera), pixels(f->y), p, !f->faces_right, (u16)(PRIORITY | PALETTE(side + 1) | tile));
}

static void draw_effects(s16 camera)
{
    for (u8 side = 0; side < SIDES; side++) {
        const struct spark *s = &game.sparks[side];
        if (s->kind)
            sprite((s16)(pixels(s->x) - camera - 16), (s16)(pixels(s->y) - 16), 4, 4,
                   (u16)(PRIORITY | (TILE_EFFECTS + EFFECT_SPARK + ((s->kind - 1) * 3 + s->frame / 4) * 16)));
    }
}

static void draw_projectiles(s16 camera)
{
    for (u8 side = 0; side < SIDES; side++) {
        const struct projectile *p = &game.fighters[side].projectile;
        s16 x = (s16)(pixels(p->x) - camera);
        if (p->flies && x > -16 && x < VIEW_WIDTH + 16)
            sprite((s16)(x - 16), (s16)(pixels(p->y) - 12), 4, 3,
                   (u16)(PRIORITY | PALETTE(side + 1) | (p->speed < 0 ? FLIPPED : 0) | (TILE_EFFECTS + EFFECT_PROJECTILE + ((p->age >> 2) & 1) * 12)));
    }
}

static void draw_shadow(const struct fighter *f, s16 camera)
{
    sprite((s16)(pixels(f->x) - camera - 16), VIEW_TOP_OF_FLOOR - 3, 4, 1, TILE_EFFECTS + EFFECT_SHADOW);
}

static void end_sprites(void)
{
    /* the last sprite links to no other and is off-screen */
    VDP_DATA = 0;
    VDP_DATA = 0;
    VDP_DATA = 0;
    VDP_DATA = 1;
}

void video_hide_sprites(void)
{
    vdp_to_video_ram(SPRITES_AT);
    end_sprites();
}

static s16 camera_of(void)
{
    s16 middle = (s16)((pixels(game.fighters[0].x) + pixels(game.fighters[1].x)) / 2 - VIEW_WIDTH / 2);
    return middle < 0 ? 0 : middle > ARENA - VIEW_WIDTH ? ARENA - VIEW_WIDTH : middle;
}

/* Parallax: what is behind the floor scrolls at half speed. */
static void scroll(s16 camera)
{
    for (u8 row = 0; row < VIEW_ROWS; row++) {
        s16 by = row < HORIZON_ROW ? (s16)(camera >> 1) : camera;
        vdp_to_video_ram(SCROLL_AT + (u32)row * TILE_PIXELS * 4);
        VDP_DATA = 0;
        VDP_DATA = (u16)-by;
    }
    vdp_to_scroll(0);
    VDP_DATA = 0;
    VDP_DATA = game.shake && (game.shake & 2) ? 2 : 0;
}

void video_draw_fight(void)
{
    s16 camera = camera_of();
    for (u8 side = 0; side < SIDES; side++) {
        const struct fighter *f = &game.fighters[side];
        u8 pose = pose_of(f);
        if (pose != shown_pose[side]) {
            const struct pose *p = &poses[f->character][pose];
            load_tiles((u16)(TILE_FIGHTER + side * FIGHTER_SLOT), p->tile, (u16)(p->columns * p->rows));
            shown_pose[side] = pose;
        }
    }
    scroll(camera);
    vdp_to_video_ram(SPRITES_AT);
    sprites = 0;
    draw_effects(camera);
    draw_projectiles(camera);
    /* the attacker is drawn in front */
    u8 front = game.fighters[1].move && !game.fighters[0].move;
    draw_fighter(front, camera);
    draw_fighter((u8)(1 - front), camera);
    draw_shadow(&game.fighters[0], camera);
    draw_shadow(&game.fighters[1], camera);
    end_sprites();
}
