#include "text.h"
#include "video.h"
#include "world.h"

#define DIALOGUE_ROW 15
#define FIRST_WORD 0x80 /* characters from here on stand for words of the secrets */
#define CHOICE_COLUMN 15
#define MARK_COLUMN 28

static const char *page;      /* the next one, or NULL */
static const char *next;      /* the next character of this page */
static u8 told_column, told_row;
static const char *word;      /* a word of a secret that is being told */
static u8 choice_row;

void text_print(u8 column, u8 row, const char *text)
{
    while (*text)
        video_letter(column++, row, LETTER(*text++));
}

void text_number(u8 column, u8 row, u16 number, u8 digits)
{
    for (u8 i = digits; i--;) {
        video_letter((u8)(column + i), row, number || i == digits - 1 ? LETTER('0' + number % 10) : LETTER(' '));
        number /= 10;
    }
}

void text_window(u8 column, u8 row, u8 columns, u8 rows)
{
    for (u8 y = 0; y < rows; y++)
        for (u8 x = 0; x < columns; x++) {
            u8 across = x == 0 ? 0 : x == columns - 1 ? 2 : 1;
            u16 tile = LETTER(' ');
            if (y == 0)
                tile = (u16)(WINDOW + across);
            else if (y == rows - 1)
                tile = (u16)(WINDOW + 5 + across);
            else if (across != 1)
                tile = (u16)(WINDOW + (across ? 4 : 3));
            video_letter((u8)(column + x), (u8)(row + y), tile);
        }
}

/* ---- dialogue ---- */

static void begin_page(const char *text)
{
    page = NULL;
    next = text;
    word = NULL;
    told_column = told_row = 0;
    for (u8 i = 0; i < sizeof game.text; i++)
        game.text[i] = i < TEXT_COLUMNS * TEXT_ROWS ? ' ' : 0;
    text_window(0, DIALOGUE_ROW, COLUMNS, TEXT_ROWS + 2);
}

void dialogue_open(const char *text) { begin_page(text); }

static void put(char character)
{
    if (told_column < TEXT_COLUMNS) {
        video_letter((u8)(1 + told_column), (u8)(DIALOGUE_ROW + 1 + told_row), LETTER(character));
        game.text[told_row * TEXT_COLUMNS + told_column] = character;
    }
    told_column++;
}

/* Tell one letter. Returns 0 if the page is there as a whole. */
static u8 tell(void)
{
    if (word && *word) {
        put(*word++);
        return 1;
    }
    u8 character = (u8)*next;
    if (!character || character == '\f')
        return 0;
    next++;
    if (character == '\n') {
        told_column = 0;
        told_row++;
    } else if (character >= FIRST_WORD) {
        u8 place = (u8)(character - FIRST_WORD);
        word = secrets[place / WORDS].words[game.secret[place]];
        put(*word++);
    } else {
        put((char)character);
    }
    return 1;
}

u8 dialogue_is_told(void) { return (!word || !*word) && !*next; }

u8 dialogue_step(u16 pressed)
{
    u8 all = game.text_speed || pressed & (PAD_A | PAD_B);
    u8 told = tell();
    while (told && all)
        told = tell();
    u8 is_whole = (!word || !*word) && (!*next || *next == '\f');
    if (is_whole)
        video_letter(MARK_COLUMN, DIALOGUE_ROW + TEXT_ROWS + 1, LETTER('>'));
    if (!is_whole || told || !(pressed & (PAD_A | PAD_B)))
        return 0;
    if (*next == '\f') {
        begin_page(next + 1);
        return 0;
    }
    return 1;
}

void dialogue_close(void)
{
    for (u8 i = 0; i < sizeof game.text; i++)
        game.text[i] = 0;
    video_clear_text(DIALOGUE_ROW, TEXT_ROWS + 2);
}

/* ---- choice ---- */

static void mark_choice(void)
{
    for (u8 i = 0; i < game.choices; i++)
        video_letter(CHOICE_COLUMN + 1, (u8)(choice_row + 1 + i), LETTER(i == game.choice ? '>' : ' '));
}

void choice_open(const char *const *options, u8 count)
{
    game.choice = 0;
    game.choices = count;
    choice_row = (u8)(DIALOGUE_ROW - 2 - count);
    text_window(CHOICE_COLUMN, choice_row, OPTION_COLUMNS + 3, (u8)(count + 2));
    for (u8 i = 0; i < count; i++) {
        const char *option = options[i];
        text_print(CHOICE_COLUMN + 2, (u8)(choice_row + 1 + i), option);
        for (u8 k = 0; k < OPTION_COLUMNS; k++)
            game.option[i * OPTION_COLUMNS + k] = *option ? *option++ : ' ';
    }
    mark_choice();
}

u8 choice_step(u16 pressed)
{
    if (pressed & PAD_DOWN)
        game.choice = (u8)((game.choice + 1) % game.choices);
    if (pressed & PAD_UP)
        game.choice = (u8)((game.choice + game.choices - 1) % game.choices);
    mark_choice();
    return (pressed & PAD_A) != 0;
}

void choice_close(void)
{
    video_clear_text(choice_row, (u8)(game.choices + 2));
    game.choices = 0;
    for (u8 i = 0; i < sizeof game.option; i++)
        game.option[i] = 0;
}
