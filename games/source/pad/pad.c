/* Pad: publish the pads and draw them. */
#include "pad.h"
#include "screen.h"

#define PUBLISHED ((volatile Published *)PUBLISHED_ADDRESS)
#define DIGITS 10 /* of a 32-bit number */
#define COUNTDOWN_DIGITS 5

/* Neither console divides: count how often each power of ten fits instead. */
static const u32 powers_of_ten[DIGITS] = {1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};

static void draw_text(u8 column, u8 row, const char *text, u8 style)
{
    screen_at(column, row);
    while (*text)
        screen_put(CELL(GLYPH(*text++), style));
}

static void draw_number(u8 column, u8 row, u32 value, u8 digits)
{
    screen_at(column, row);
    for (u8 place = (u8)(DIGITS - digits); place < DIGITS; place++) {
        char digit = '0';
        for (u32 power = powers_of_ten[place]; value >= power; value -= power)
            digit++;
        screen_put(CELL(GLYPH(digit), STYLE_TEXT));
    }
}

static void draw_pad(u8 panel_row, u16 held, u16 changed)
{
    for (const ButtonLabel *label = button_labels; label->name; label++)
        if (changed & label->button)
            draw_text((u8)(PANEL_COLUMN + label->column), (u8)(panel_row + label->row), label->name,
                      held & label->button ? STYLE_LIT : STYLE_DIM);
}

/* ---- the barcode ---- */

static void draw_alternating(u8 row, u16 first, u16 second)
{
    screen_at(BARCODE_COLUMN, row);
    for (u8 pair = 0; pair < BARCODE_WIDTH / 2; pair++) {
        screen_put(first);
        screen_put(second);
    }
}

static void draw_barcode_frame(void)
{
    draw_alternating(BARCODE_ROW, BARCODE_WHITE, BARCODE_BLACK);
    draw_alternating(BARCODE_ROW + BARCODE_HEIGHT - 1, BARCODE_BLACK, BARCODE_WHITE);
    for (u8 word = 0; word < BARCODE_WORDS; word++) {
        screen_at(BARCODE_COLUMN, (u8)(BARCODE_ROW + 1 + word));
        screen_put(BARCODE_WHITE);
        screen_at(BARCODE_COLUMN + 1 + BARCODE_BITS, (u8)(BARCODE_ROW + 1 + word));
        screen_put(BARCODE_BLACK);
    }
}

static void draw_word(u8 word, u16 bits)
{
    screen_at(BARCODE_COLUMN + 1, (u8)(BARCODE_ROW + 1 + word));
    for (u8 left = BARCODE_BITS; left; left--) {
        screen_put(bits & 0x8000 ? BARCODE_WHITE : BARCODE_BLACK);
        bits = (u16)(bits << 1);
    }
}

static void draw_barcode(u32 frame, u16 pad1, u16 pad2, u32 presses)
{
    u16 high = (u16)(frame >> 16), low = (u16)frame, pressed = (u16)presses;
    draw_word(WORD_FRAME_HIGH, high);
    draw_word(WORD_FRAME_LOW, low);
    draw_word(WORD_PAD1, pad1);
    draw_word(WORD_PAD2, pad2);
    draw_word(WORD_PRESSES, pressed);
    /* inverted, so that neither an all-black nor an all-white picture is a barcode */
    draw_word(WORD_CHECK, (u16)~(high ^ low ^ pad1 ^ pad2 ^ pressed));
}

/* ---- the frame ---- */

static u8 bits_set(u16 bits)
{
    u8 count = 0;
    for (; bits; bits &= (u16)(bits - 1))
        count++;
    return count;
}

static void count_down(void)
{
    u16 left = PUBLISHED->countdown;
    if (left == 0)
        return;
    PUBLISHED->countdown = --left;
    if (left == 0)
        PUBLISHED->finished = 1;
}

static void draw_end(void)
{
    if (PUBLISHED->finished)
        draw_text(NUMBERS_COLUMN, END_ROW + 1, "NOW  ", STYLE_LIT);
    else if (PUBLISHED->countdown)
        draw_number(NUMBERS_COLUMN, END_ROW + 1, PUBLISHED->countdown, COUNTDOWN_DIGITS);
    else
        draw_text(NUMBERS_COLUMN, END_ROW + 1, "NEVER", STYLE_TEXT);
}

void pad_start(void)
{
    draw_text(BARCODE_COLUMN, TITLE_ROW, TITLE, STYLE_TEXT);
    draw_text(NUMBERS_COLUMN, FRAME_ROW, "FRAME", STYLE_DIM);
    draw_text(NUMBERS_COLUMN, PRESSES_ROW, "PRESSES", STYLE_DIM);
    draw_text(NUMBERS_COLUMN, END_ROW, "ENDS IN", STYLE_DIM);
    draw_text(PANEL_COLUMN, PANEL_1_ROW, PANEL_1_TITLE, STYLE_TEXT);
    draw_text(PANEL_COLUMN, PANEL_2_ROW, PANEL_2_TITLE, STYLE_TEXT);
    draw_pad(PANEL_1_ROW, 0, PAD_ALL);
    draw_pad(PANEL_2_ROW, 0, PAD_ALL);
    draw_number(NUMBERS_COLUMN, PRESSES_ROW + 1, 0, DIGITS);
    draw_barcode_frame();
    PUBLISHED->magic = MAGIC;
}

void pad_frame(u16 pad1, u16 pad2)
{
    u16 changed1 = PUBLISHED->pad1 ^ pad1, changed2 = PUBLISHED->pad2 ^ pad2;
    u8 pressed = (u8)(bits_set(changed1 & pad1) + bits_set(changed2 & pad2));

    PUBLISHED->frame++;
    PUBLISHED->pad1 = pad1;
    PUBLISHED->pad2 = pad2;
    PUBLISHED->presses += pressed;
    count_down();

    /* from the top down, so that each line is drawn before the picture gets there even if the blank is too short
       for everything (on a Genesis it is, when many buttons change at once) */
    draw_barcode(PUBLISHED->frame, pad1, pad2, PUBLISHED->presses);
    draw_number(NUMBERS_COLUMN, FRAME_ROW + 1, PUBLISHED->frame, DIGITS);
    if (pressed)
        draw_number(NUMBERS_COLUMN, PRESSES_ROW + 1, PUBLISHED->presses, DIGITS);
    draw_end();
    draw_pad(PANEL_1_ROW, pad1, changed1);
    draw_pad(PANEL_2_ROW, pad2, changed2);
    PUBLISHED->idle_line = screen_line();
}
