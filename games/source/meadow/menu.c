/* The menu, of two pages: what the hero carries, and the quests that have begun. */
#include "menu.h"
#include "modes.h"
#include "script.h"
#include "text.h"
#include "video.h"
#include "world.h"

#define LEFT_COLUMN 2
#define WIDTH 26
#define TOP 2
#define LIST_ROW 4
#define LIST_ROWS 7
#define ABOUT_ROW 12
#define NUMBER_COLUMN 23

static enum { CARRIED, QUESTS_BEGUN } page;
static u8 listed[ITEMS > QUESTS ? ITEMS : QUESTS];

static void find_entries(void)
{
    game.choice = game.choices = 0;
    if (page == CARRIED) {
        for (u8 i = 0; i < ITEMS; i++)
            if (game.item[i])
                listed[game.choices++] = i;
    } else {
        for (u8 i = 0; i < QUESTS; i++)
            if (i == 0 || steps_done(i))
                listed[game.choices++] = i;
    }
}

static void draw_entry(u8 row, u8 number)
{
    if (page == CARRIED) {
        text_print(6, row, items[number].name);
        text_number(NUMBER_COLUMN, row, game.item[number], 2);
    } else {
        text_print(6, row, quests[number].name);
        text_number(NUMBER_COLUMN, row, steps_done(number), 1);
        text_print(NUMBER_COLUMN + 1, row, "/");
        text_number(NUMBER_COLUMN + 2, row, quests[number].steps, 1);
    }
}

static const char *hint(u8 quest)
{
    u8 done = steps_done(quest);
    return done < quests[quest].steps ? texts[steps[quests[quest].first_step + done].hint] : "This is done.";
}

/* Draw the page, so that the marked entry can be seen, and tell about it. */
static void draw_page(void)
{
    text_window(LEFT_COLUMN, TOP, WIDTH, ABOUT_ROW - TOP);
    text_print(4, TOP + 1, page == CARRIED ? "You carry      Quests >" : "< You carry     Quests");
    u8 first = game.choice < LIST_ROWS ? 0 : (u8)(game.choice - LIST_ROWS + 1);
    for (u8 i = first; i < game.choices && i < first + LIST_ROWS; i++) {
        u8 row = (u8)(LIST_ROW + i - first);
        draw_entry(row, listed[i]);
        if (i == game.choice)
            video_letter(4, row, LETTER('>'));
    }
    if (!game.choices)
        text_print(6, LIST_ROW, "nothing");
    text_window(LEFT_COLUMN, ABOUT_ROW, WIDTH, 3);
    u8 number = listed[game.choice];
    if (page == QUESTS_BEGUN)
        text_print(3, ABOUT_ROW + 1, quests[number].type);
    else if (game.choices)
        text_print(3, ABOUT_ROW + 1, items[number].about);
    dialogue_open(hint(page == QUESTS_BEGUN ? number : 0));
}

void menu_open(void)
{
    game.mode = MODE_MENU;
    page = CARRIED;
    find_entries();
    draw_page();
}

static void close(void)
{
    video_clear_text(TOP, ABOUT_ROW + 3 - TOP);
    dialogue_close();
    game.choices = 0;
    game.mode = MODE_WALK;
}

static void mark(u8 entry)
{
    game.choice = (u8)(entry % game.choices);
    draw_page();
}

void menu_step(u16 pressed)
{
    dialogue_step(0);
    if (pressed & (PAD_B | PAD_START)) {
        close();
        return;
    }
    if (pressed & (PAD_LEFT | PAD_RIGHT)) {
        page = page == CARRIED ? QUESTS_BEGUN : CARRIED;
        find_entries();
        draw_page();
        return;
    }
    if (!game.choices)
        return;
    if (pressed & PAD_DOWN)
        mark((u8)(game.choice + 1));
    else if (pressed & PAD_UP)
        mark((u8)(game.choice + game.choices - 1));
    u16 use = page == CARRIED ? items[listed[game.choice]].use : 0;
    if (pressed & PAD_A && use) {
        close();
        script_start(use);
    }
}
