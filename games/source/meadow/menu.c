/* The menu: what the hero carries, and what is to be done. */
#include "menu.h"
#include "modes.h"
#include "script.h"
#include "text.h"
#include "video.h"
#include "world.h"

#define TOP 2
#define LIST_ROW 4
#define ABOUT_ROW 12

static u8 listed[ITEMS];

static void show_about(void)
{
    text_window(2, ABOUT_ROW, 26, 3);
    if (game.choices)
        text_print(3, ABOUT_ROW + 1, items[listed[game.choice]].about);
    for (u8 i = 0; i < game.choices; i++)
        video_letter(4, (u8)(LIST_ROW + i), LETTER(i == game.choice ? '>' : ' '));
}

void menu_open(void)
{
    game.mode = MODE_MENU;
    game.choice = game.choices = 0;
    text_window(2, TOP, 26, ABOUT_ROW - TOP);
    text_print(4, TOP + 1, "You carry");
    for (u8 i = 0; i < ITEMS; i++) {
        if (!game.item[i])
            continue;
        u8 row = (u8)(LIST_ROW + game.choices);
        listed[game.choices++] = i;
        text_print(6, row, items[i].name);
        text_number(22, row, game.item[i], 2);
    }
    if (!game.choices)
        text_print(6, LIST_ROW, "nothing");
    u8 step = main_step();
    dialogue_open(step < MAIN_STEPS ? texts[main_steps[step].hint] : "The spring runs again.");
    show_about();
}

static void close(void)
{
    video_clear_text(TOP, ABOUT_ROW + 3 - TOP);
    dialogue_close();
    game.choices = 0;
    game.mode = MODE_WALK;
}

void menu_step(u16 pressed)
{
    dialogue_step(0);
    if (pressed & (PAD_B | PAD_START)) {
        close();
        return;
    }
    if (!game.choices)
        return;
    u8 before = game.choice;
    if (pressed & PAD_DOWN)
        game.choice = (u8)((game.choice + 1) % game.choices);
    if (pressed & PAD_UP)
        game.choice = (u8)((game.choice + game.choices - 1) % game.choices);
    if (game.choice != before)
        show_about();
    u16 use = items[listed[game.choice]].use;
    if (pressed & PAD_A && use) {
        close();
        script_start(use);
    }
}
