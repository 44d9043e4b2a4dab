/* The two lines at the top: health, money, the time of a race; where the hero is, day and hour. */
#include "status.h"
#include "text.h"
#include "video.h"
#include "world.h"

#define BAR_COLUMN 3
#define BAR_TILES 5
#define MOST_DIGITS 4
#define SECOND 60 /* frames */

static struct { u8 valid, hp, area, day; u16 money, clock, seconds; } shown;

void status_forget(void) { shown.valid = 0; }

/* ---- the upper line: its characters are lower, so that they do not touch the edge of the screen ---- */

static void print_low(u8 column, const char *text)
{
    for (; *text; text++, column++)
        for (u8 i = 0; i < sizeof LOW_CHARACTERS - 1; i++)
            if (LOW_CHARACTERS[i] == *text)
                video_letter(column, 0, (u16)(LOW_LETTER + i));
}

static void print_low_number(u8 column, u16 number, u8 digits)
{
    char text[MOST_DIGITS + 1] = "    ";
    text[digits] = 0;
    do {
        text[--digits] = (char)('0' + number % 10);
        number /= 10;
    } while (number && digits);
    print_low(column, text);
}

static void draw_health(void)
{
    u8 pixels = (u8)((game.hp * BAR_TILES * 8 + game.max_hp - 1) / game.max_hp);
    for (u8 i = 0; i < BAR_TILES; i++) {
        u8 here = pixels >= 8 ? 8 : pixels;
        video_letter((u8)(BAR_COLUMN + i), 0, (u16)(BAR + here));
        pixels = (u8)(pixels - here);
    }
    print_low_number(BAR_COLUMN + BAR_TILES + 1, game.hp, 2);
    print_low(BAR_COLUMN + BAR_TILES + 3, "/");
    print_low_number(BAR_COLUMN + BAR_TILES + 4, game.max_hp, 2);
}

static void draw_frame(void)
{
    for (u8 row = 0; row < STATUS_ROWS; row++)
        for (u8 column = 0; column < COLUMNS; column++)
            video_letter(column, row, LETTER(' '));
    print_low(0, "HP");
    print_low(17, "$");
    text_print(1, 1, area_here()->name);
    text_print(18, 1, "Day");
}

void status_draw(void)
{
    u16 clock = (u16)(game.clock - game.clock % 10), seconds = (u16)((game.timer + SECOND - 1) / SECOND);
    if (shown.valid && shown.hp == game.hp && shown.area == game.area && shown.money == game.money &&
        shown.clock == clock && shown.day == game.day && shown.seconds == seconds)
        return;
    draw_frame();
    draw_health();
    print_low_number(18, game.money, 4);
    if (seconds)
        print_low_number(26, seconds, 4);
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
    shown.seconds = seconds;
}
