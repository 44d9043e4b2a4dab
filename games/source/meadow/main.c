/* The frame loop: clamp what the host wrote, read the pad, play a frame, draw. The title, and how a game begins. */
#include "actors.h"
#include "battle.h"
#include "chance.h"
#include "creature.h"
#include "hero.h"
#include "maze.h"
#include "menu.h"
#include "modes.h"
#include "script.h"
#include "status.h"
#include "text.h"
#include "video.h"
#include "world.h"

#define MAGIC 0x4441454D /* "MEAD" */
#define FIRST_SEED 1
#define FIRST_HOUR 8
#define MINUTES_A_DAY (24 * 60)
#define MINUTE 5 /* frames */
#define BLINK 32 /* frames */

static u16 before; /* the pad of the last frame */
static u8 minute_frames;

/* ---- settings ---- */

static void write_first_settings(void)
{
    game.magic = MAGIC;
    game.seed = FIRST_SEED;
    game.hour = FIRST_HOUR;
}

static void clamp_settings(void)
{
    if (game.start > 1)
        game.start = 1;
    if (game.text_speed > 1)
        game.text_speed = 1;
    if (game.hour > 23)
        game.hour = 23;
}

/* ---- the title ---- */

static void to_title(void)
{
    script_stop();
    game.mode = MODE_TITLE;
    game.clock = FIRST_HOUR * 60;
    game.area = 0;
    video_clear_text(0, ROWS + STATUS_ROWS);
    video_no_sprites();
    video_draw_area();
    video_draw_logo(3, 5);
    text_window(5, 11, 20, 5);
    text_print(7, 12, world_subtitle);
    status_forget();
}

static void title_step(void)
{
    text_print(9, 14, game.frame & BLINK ? "           " : "Press START");
}

/* ---- a new game ---- */

/* Draw the order of the words of each secret. Source: Durstenfeld, Communications of the ACM 7 (7), 1964. */
static void draw_secrets(void)
{
    for (u8 secret = 0; secret < SECRETS; secret++) {
        u8 *order = &game.secret[secret * WORDS];
        for (u8 i = 0; i < WORDS; i++)
            order[i] = i;
        for (u8 i = WORDS - 1; i; i--) {
            u8 other = chance_below((u8)(i + 1)), word = order[i];
            order[i] = order[other];
            order[other] = word;
        }
    }
}

static void new_game(void)
{
    script_forget();
    video_clear_text(0, ROWS + STATUS_ROWS);
    game.start = 0;
    for (u8 i = 0; i < sizeof game.item; i++)
        game.item[i] = 0;
    game.flags = 0;
    game.areas_seen = 0;
    game.step = game.won = game.lost = game.deaths = 0;
    game.choice = game.choices = game.enemy = game.enemy_hp = 0;
    game.timer = 0;
    game.hp = game.max_hp = START_HEALTH;
    game.money = START_MONEY;
    game.clock = (u16)(game.hour * 60);
    game.day = 1;
    minute_frames = 0;
    chance_start(game.seed);
    draw_secrets();
    maze_draw();
    status_forget();
    enter_area(&start_place);
    game.mode = MODE_WALK;
}

/* ---- frames ---- */

static void pass_time(void)
{
    if (game.timer)
        game.timer--;
    if (++minute_frames < MINUTE)
        return;
    minute_frames = 0;
    if (++game.clock < MINUTES_A_DAY)
        return;
    game.clock = 0;
    if (game.day < MOST_DAYS)
        game.day++;
    else
        game.lost = 1;
}

static void walk_step(u16 held, u16 pressed)
{
    pass_time();
    if (pressed & PAD_START && !hero_frames_left()) {
        menu_open();
        return;
    }
    hero_step(held, pressed);
    if (game.mode == MODE_WALK)
        creatures_step();
}

static void play(u16 held, u16 pressed)
{
    switch (game.mode) {
    case MODE_TITLE: title_step(); break;
    case MODE_WALK: walk_step(held, pressed); break;
    case MODE_MENU: menu_step(pressed); break;
    case MODE_BATTLE: battle_step(pressed); break;
    default: script_step(pressed);
    }
    game.step = steps_done(0);
    for (u8 quest = 1; quest < QUESTS; quest++)
        game.side[quest - 1] = steps_done(quest);
}

static void draw(void)
{
    if (game.mode == MODE_TITLE)
        return;
    status_draw();
    if (game.mode == MODE_BATTLE)
        battle_draw();
    else
        actors_draw();
}

int main(void)
{
    WAIT_CONTROL = WAIT_3_1_PREFETCH;
    write_first_settings();
    maze_draw();
    video_start();
    to_title();
    vsync_start();
    for (;;) {
        vsync();
        u16 held = read_pad(), pressed = held & ~before;
        before = held;
        clamp_settings();
        if (game.start || (game.mode == MODE_TITLE && pressed & PAD_START))
            new_game();
        else
            play(held, pressed);
        if ((game.won || game.lost) && game.mode == MODE_WALK)
            to_title();
        draw();
        video_frame();
        game.frame++;
    }
}
