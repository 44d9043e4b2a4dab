#include "battle.h"
#include "art.h"
#include "chance.h"
#include "creature.h"
#include "hero.h"
#include "modes.h"
#include "script.h"
#include "text.h"
#include "video.h"
#include "world.h"

#define BARE_HANDS 3 /* a blow takes this many, up to two more, and what weapons add */
#define POTION_HEALS 12
#define MISSES 8     /* one blow in so many */
#define FLIGHT 5     /* chances in FLIGHT_OF that fleeing succeeds */
#define FLIGHT_OF 8
#define SHAKE_FRAMES 12
#define BAR_TILES 9
#define BAR_COLUMN 18
#define LINE 28

static enum { APPEARS, CHOOSES, STRIKES, ANSWERS, WINS, FLEES } phase;
static u8 kind, fought, shaking; /* fought: its place in the area, or NOBODY */
static char message[2 * LINE + 2];
static u8 length;

/* ---- messages ---- */

static void add(const char *text)
{
    while (*text && length < sizeof message - 1)
        message[length++] = *text++;
    message[length] = 0;
}

static void add_number(u8 number)
{
    char digits[3] = {(char)('0' + number / 10), (char)('0' + number % 10), 0};
    add(number < 10 ? digits + 1 : digits);
}

static void tell(void) { dialogue_open(message); }

static void begin(void) { length = 0; }

/* ---- the screen ---- */

static void draw_bar(void)
{
    u8 full = creatures[kind].health;
    u8 pixels = (u8)((game.enemy_hp * BAR_TILES * 8 + full - 1) / full);
    for (u8 i = 0; i < BAR_TILES; i++) {
        u8 here = pixels >= 8 ? 8 : pixels;
        video_letter((u8)(BAR_COLUMN + i), 3, (u16)(BAR + here));
        pixels = (u8)(pixels - here);
    }
}

void battle_draw(void)
{
    video_no_sprites();
    s16 shift = shaking & 2 ? 3 : 0;
    if (shaking)
        shaking--;
    if (game.enemy_hp)
        video_portrait((s16)(104 + shift), 56, (u8)(creatures[kind].sprite - FIRST_CREATURE_SPRITE));
}

static void open_screen(void)
{
    video_draw_backdrop(area_here()->battle_cell);
    text_window(1, 2, 28, 3);
    text_print(2, 3, creatures[kind].name);
    draw_bar();
}

static void close_screen(void)
{
    dialogue_close();
    video_clear_text(2, 3);
    video_draw_area();
    game.enemy = game.enemy_hp = 0;
    creatures_spare_hero();
    game.mode = MODE_WALK;
}

/* ---- turns ---- */

static void start(u8 creature, u8 place)
{
    kind = creature;
    fought = place;
    phase = APPEARS;
    shaking = 0;
    game.mode = MODE_BATTLE;
    game.enemy = (u8)(creature + 1);
    game.enemy_hp = creatures[creature].health;
    open_screen();
    begin();
    add(creatures[kind].name);
    add(" blocks your way!");
    tell();
}

void battle_with(u8 place) { start((u8)(game.creature_kind[place] - 1), place); }

void battle_in_script(u8 creature) { start(creature, NOBODY); }

static void open_choice(void)
{
    static const char *const options[] = {"Attack", "Potion", "Flee"};
    phase = CHOOSES;
    begin();
    add("What will you do?");
    tell();
    choice_open(options, 3);
}

static u8 weapon(void)
{
    u8 best = 0;
    for (u8 i = 0; i < ITEMS; i++)
        if (game.item[i] && items[i].attack > best)
            best = items[i].attack;
    return best;
}

static void attack(void)
{
    begin();
    if (!holds(creatures[kind].armour)) {
        add("Your blow glances off.");
        return;
    }
    if (chance_below(MISSES) == 0) {
        add("You miss.");
        return;
    }
    u8 blow = (u8)(BARE_HANDS + chance_below(3) + weapon());
    if (blow > game.enemy_hp)
        blow = game.enemy_hp;
    game.enemy_hp = (u8)(game.enemy_hp - blow);
    shaking = SHAKE_FRAMES;
    add("You hit for ");
    add_number(blow);
    add(".");
}

static void drink(void)
{
    begin();
    if (!game.item[POTION]) {
        add("You have no potion.");
        return;
    }
    game.item[POTION]--;
    hero_heal(POTION_HEALS);
    add("You drink a potion.");
}

static void flee(void)
{
    begin();
    if (!creatures[kind].keeps && chance_below(FLIGHT_OF) < FLIGHT) {
        phase = FLEES;
        add("You run away.");
        return;
    }
    add("You cannot get away!");
}

static void take_turn(void)
{
    phase = STRIKES;
    switch (game.choice) {
    case 0: attack(); break;
    case 1: drink(); break;
    default: flee();
    }
    draw_bar();
    tell();
}

/* Returns 1 if the hero was struck down, and is home again. */
static u8 take_answer(void)
{
    phase = ANSWERS;
    begin();
    add(creatures[kind].name);
    if (chance_below(MISSES) == 0) {
        add(" misses.");
    } else {
        u8 most = creatures[kind].attack;
        u8 blow = (u8)(most / 2 + chance_below((u8)(most - most / 2 + 1)));
        add(" hits for ");
        add_number(blow);
        add(".");
        if (blow >= game.hp) {
            close_screen();
            script_stop();
            return hero_hurt(blow);
        }
        hero_hurt(blow);
    }
    tell();
    return 0;
}

static void win(void)
{
    phase = WINS;
    game.money = (u16)(game.money + creatures[kind].money > 9999 ? 9999 : game.money + creatures[kind].money);
    begin();
    add("You win ");
    add_number(creatures[kind].money);
    add(" coins.");
    tell();
}

static void finish(u8 won)
{
    close_screen();
    if (fought != NOBODY) {
        if (won)
            creature_remove(fought);
    } else if (!won) {
        script_stop();
    } else {
        game.mode = MODE_DIALOGUE;
    }
}

void battle_step(u16 pressed)
{
    if (phase == CHOOSES) {
        dialogue_step(0);
        if (choice_step(pressed)) {
            choice_close();
            take_turn();
        }
        return;
    }
    if (!dialogue_step(pressed))
        return;
    switch (phase) {
    case STRIKES:
        if (game.enemy_hp)
            take_answer();
        else
            win();
        break;
    case WINS: finish(1); break;
    case FLEES: finish(0); break;
    default: open_choice();
    }
}
