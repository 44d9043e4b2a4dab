#include "script.h"
#include "battle.h"
#include "hero.h"
#include "modes.h"
#include "text.h"
#include "world.h"

#define MOST_CARRIED 99
#define MOST_MONEY 9999
#define MOVE_FRAMES 16 /* frames of somebody's step in a cutscene */

static const u8 *next;                    /* the next operation; NULL: no script runs */
static enum { NOTHING, TEXT, QUESTION, OPTION, BATTLE, TIME, STEPS } waits_for;
static const u8 *asked;                   /* the options of a question: text, then where to go on, two bytes each */
static u8 option_count;
static u8 frames_left, steps_left, direction;
static struct present *moving;
static u8 mode_while_running;
static u8 tried[SECRETS];                 /* words of each secret that were right so far */

static u8 byte(void) { return *next++; }

static u16 word_at(const u8 *bytes) { return (u16)(bytes[0] | bytes[1] << 8); }

static u16 word(void)
{
    u16 value = word_at(next);
    next += 2;
    return value;
}

static void go_to(u16 place) { next = scripts + place; }

static void open_text(const char *text)
{
    dialogue_open(text);
    waits_for = TEXT;
}

void script_start(u16 script)
{
    if (!script)
        return;
    go_to(script);
    waits_for = NOTHING;
    mode_while_running = MODE_DIALOGUE;
    game.mode = MODE_DIALOGUE;
}

void script_stop(void)
{
    next = NULL;
    waits_for = NOTHING;
    if (game.choices)
        choice_close();
    dialogue_close();
}

void script_forget(void)
{
    script_stop();
    for (u8 i = 0; i < SECRETS; i++)
        tried[i] = 0;
}

void say(const char *text)
{
    static const u8 end = OP_END;
    next = &end;
    mode_while_running = MODE_DIALOGUE;
    game.mode = MODE_DIALOGUE;
    open_text(text);
}

static void finish(void)
{
    script_stop();
    game.mode = MODE_WALK;
    refresh_things();
}

/* ---- operations ---- */

static void open_question(void)
{
    u16 text = word();
    option_count = byte();
    asked = next;
    next += 4 * option_count;
    dialogue_open(texts[text]);
    game.choices = 0;
    waits_for = QUESTION;
}

static void open_options(void)
{
    const char *options[MOST_OPTIONS];
    for (u8 i = 0; i < option_count; i++)
        options[i] = texts[word_at(asked + 4 * i)];
    choice_open(options, option_count);
    waits_for = OPTION;
}

/* Offer a word of a secret. After the last one, more than there are are asked for on the way back. After a wrong one,
   they are asked for from the first again; it counts if it is the first. */
static void try_word(void)
{
    u8 secret = byte(), offered = byte();
    u16 if_wrong = word(), if_part = word();
    const u8 *words = &game.secret[secret * WORDS];
    u8 place = tried[secret] < WORDS ? tried[secret] : (u8)(2 * WORDS - 1 - tried[secret]);
    if (words[place] != offered) {
        tried[secret] = words[0] == offered;
        go_to(if_wrong);
        return;
    }
    tried[secret]++;
    if (tried[secret] < secrets[secret].asked)
        go_to(if_part);
    else
        tried[secret] = 0;
}

static struct present *present_thing(u8 number)
{
    for (u8 i = 0; i < THINGS_HERE; i++)
        if (present[i].number == number)
            return &present[i];
    return NULL;
}

static void give(u8 item, u8 count)
{
    u16 carried = (u16)(game.item[item] + count);
    game.item[item] = (u8)(carried > MOST_CARRIED ? MOST_CARRIED : carried);
}

static void take(u8 item, u8 count)
{
    game.item[item] = (u8)(game.item[item] > count ? game.item[item] - count : 0);
}

static void earn(u16 money)
{
    u16 owned = (u16)(game.money + money);
    game.money = owned > MOST_MONEY ? MOST_MONEY : owned;
}

static void warp(void)
{
    struct place place = {next[0], next[1], next[2], next[3]};
    next += 4;
    enter_area(&place);
}

static void run_operation(void)
{
    u16 value;
    u8 number;
    switch (byte()) {
    case OP_END: finish(); break;
    case OP_SAY: open_text(texts[word()]); break;
    case OP_ASK: open_question(); break;
    case OP_SET: game.flags |= 1ull << byte(); refresh_things(); break;
    case OP_CLEAR: game.flags &= ~(1ull << byte()); refresh_things(); break;
    case OP_GIVE: number = byte(); give(number, byte()); refresh_things(); break;
    case OP_TAKE: number = byte(); take(number, byte()); refresh_things(); break;
    case OP_EARN: earn(word()); break;
    case OP_PAY:
        value = word();
        if (game.money >= value) {
            game.money = (u16)(game.money - value);
            next += 2;
        } else {
            go_to(word());
        }
        break;
    case OP_HEAL: hero_heal(byte()); break;
    case OP_HURT: hero_hurt(byte()); break;
    case OP_GOTO: go_to(word()); break;
    case OP_WARP: warp(); break;
    case OP_FIGHT: waits_for = BATTLE; battle_in_script(byte()); break;
    case OP_TRY: try_word(); break;
    case OP_MOVE:
        moving = present_thing(byte());
        direction = byte();
        steps_left = byte();
        waits_for = STEPS;
        break;
    case OP_WAIT: frames_left = byte(); waits_for = TIME; break;
    case OP_TEST:
        value = word();
        if (holds(value))
            next += 2;
        else
            go_to(word());
        break;
    case OP_CUTSCENE: mode_while_running = MODE_CUTSCENE; game.mode = MODE_CUTSCENE; break;
    case OP_TIMER: game.timer = word(); break;
    case OP_WIN: game.won = 1; break;
    }
}

/* One more frame of a walk in a cutscene. Returns 1 when it is over. */
static u8 move_somebody(void)
{
    if (!moving)
        return 1;
    if (moving->stepping) {
        moving->stepping--;
        return 0;
    }
    if (!steps_left)
        return 1;
    u8 x = (u8)(moving->x + step_x[direction]), y = (u8)(moving->y + step_y[direction]);
    moving->facing = direction;
    steps_left--;
    if (is_wall(x, y) || (x == game.x && y == game.y))
        return 0;
    moving->x = x;
    moving->y = y;
    moving->stepping = MOVE_FRAMES;
    refresh_things();
    return 0;
}

static u8 is_over(u16 pressed)
{
    switch (waits_for) {
    case TEXT:
        if (!dialogue_step(pressed))
            return 0;
        dialogue_close();
        return 1;
    case QUESTION:
        if (dialogue_is_told())
            open_options();
        else
            dialogue_step(pressed);
        return 0;
    case OPTION:
        if (!choice_step(pressed))
            return 0;
        go_to(word_at(asked + 4 * game.choice + 2));
        choice_close();
        dialogue_close();
        return 1;
    case BATTLE: return 1;
    case TIME: return frames_left == 0 || --frames_left == 0;
    case STEPS: return move_somebody();
    default: return 1;
    }
}

void script_step(u16 pressed)
{
    if (!next || !is_over(pressed))
        return;
    waits_for = NOTHING;
    game.mode = mode_while_running;
    while (next && waits_for == NOTHING)
        run_operation();
}
