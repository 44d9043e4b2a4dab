/* The two lines at the top: health, money, day and time, where the hero is. */
#include "status.h"
#include "text.h"
#include "video.h"
#include "world.h"

#define BAR_COLUMN 3
#define BAR_TILES 5

static struct { u8 valid, hp, area, day; u16 money, clock; } shown;

void status_forget(void) { shown.valid = 0; }

static void draw_health(void)
{
    u8 pixels = (u8)((game.hp * BAR_TILES * 8 + game.max_hp - 1) / game.max_hp);
    for (u8 i = 0; i < BAR_TILES; i++) {
        u8 here = pixels >= 8 ? 8 : pixels;
        video_letter((u8)(BAR_COLUMN + i), 0, (u16)(BAR + here));
        pixels = (u8)(pixels - here);
    }
    text_number(BAR_COLUMN + BAR_TILES + 1, 0, game.hp, 2);
    text_print(BAR_COLUMN + BAR_TILES + 3, 0, "/");
    text_number(BAR_COLUMN + BAR_TILES + 4, 0, game.max_hp, 2);
}

static void draw_frame(void)
{
    for (u8 row = 0; row < STATUS_ROWS; row++)
        for (u8 column = 0; column < COLUMNS; column++)
            video_letter(column, row, LETTER(' '));
    text_print(0, 0, "HP");
    text_print(17, 0, "$");
    text_print(1, 1, area_here()->name);
    text_print(18, 1, "Day");
}

void status_draw(void)
{
    u16 clock = (u16)(game.clock - game.clock % 10);
    if (shown.valid && shown.hp == game.hp && shown.area == game.area && shown.money == game.money &&
        shown.clock == clock && shown.day == game.day)
        return;
    draw_frame();
    draw_health();
    text_number(18, 0, game.money, 4);
    text_number(22, 1, game.day, 2);
    text_number(25, 1, clock / 60, 2);
    text_print(27, 1, ":");
    video_letter(28, 1, LETTER('0' + clock % 60 / 10));
    video_letter(29, 1, LETTER('0'));
    shown.valid = 1;
    shown.hp = game.hp;
    shown.area = game.area;
    shown.money = game.money;
    shown.clock = clock;
    shown.day = game.day;
}
