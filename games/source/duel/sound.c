#include "sound.h"
#include "rules.h"

/* ---- the chips ---- */

#define PSG BYTE_AT(0xC00011) /* an SN76489: three tones and a noise, each with a volume */
#define FM_ADDRESS BYTE_AT(0xA04000)
#define FM_VALUE BYTE_AT(0xA04001)

#define PSG_CLOCK 3579545
#define HERTZ(pitch) (PSG_CLOCK / 32 / (pitch)) /* the period of a tone, 10 bits */
#define SLOWEST 0x3FF
#define SILENT 15             /* volumes are attenuations in steps of 2 dB; the last step is silence */

#define SET_PERIOD 0x80
#define SET_NOISE 0xE0
#define SET_VOLUME 0x90
#define WHITE 4               /* white noise, not periodic */
#define NOISE_HISSES (WHITE | 1)
#define NOISE_RUMBLES (WHITE | 2)
#define NOISE_RESTS 3         /* clocked by the third tone, as slowly as that goes */

enum voice { BLOWS, LEAPS_AND_SHOTS, BELL, TONES, NOISE = TONES };

static void set_volume(u8 voice, u8 attenuation) { PSG = (u8)(SET_VOLUME | voice << 5 | attenuation); }

static void set_period(u8 voice, u16 period)
{
    PSG = (u8)(SET_PERIOD | voice << 5 | (period & 15));
    PSG = (u8)(period >> 4);
}

/* ---- the effects ---- */

struct effect {
    u8 voice;
    u8 noise;      /* noise to play along with the tone, or 0 */
    u16 period;    /* initially */
    s8 slide;      /* added to the period on each frame; the sum must fit into 10 bits */
    u8 fade;       /* sixteenths of an attenuation step per frame; the effect ends when it is silent */
};

enum effect_number { NO_EFFECT, HIT_EFFECT, BLOCK_EFFECT, JUMP_EFFECT, SHOT_EFFECT, KNOCK_OUT_EFFECT, BELL_EFFECT };

static const struct effect effects[] = {
    [HIT_EFFECT] = {BLOWS, NOISE_HISSES, HERTZ(220), 40, 24},
    [BLOCK_EFFECT] = {BLOWS, 0, HERTZ(1200), 4, 48},
    [JUMP_EFFECT] = {LEAPS_AND_SHOTS, 0, HERTZ(320), -20, 20},
    [SHOT_EFFECT] = {LEAPS_AND_SHOTS, 0, HERTZ(1400), 8, 12},
    [KNOCK_OUT_EFFECT] = {BLOWS, NOISE_RUMBLES, HERTZ(250), 10, 5},
    [BELL_EFFECT] = {BELL, 0, HERTZ(980), 0, 5},
};

/* The effect that each tone voice plays. */
static struct {
    u8 effect; /* an effect_number */
    u8 frame;  /* frames of it that have been played */
} playing[TONES];

static void begin(u8 effect)
{
    u8 voice = effects[effect].voice;
    playing[voice].effect = effect;
    playing[voice].frame = 0;
}

/* A silent voice gets the longest period, because an emulator computes every period. */
static void end(u8 voice)
{
    playing[voice].effect = NO_EFFECT;
    set_volume(voice, SILENT);
    set_period(voice, SLOWEST);
    if (voice == BLOWS) {
        set_volume(NOISE, SILENT);
        PSG = SET_NOISE | NOISE_RESTS;
    }
}

static void play_on(u8 voice)
{
    const struct effect *effect = &effects[playing[voice].effect];
    u8 frame = playing[voice].frame++;
    u16 attenuation = (u16)((frame * effect->fade) >> 4);
    if (attenuation >= SILENT) {
        end(voice);
        return;
    }
    set_period(voice, (u16)(effect->period + frame * effect->slide));
    set_volume(voice, (u8)attenuation);
    if (voice != BLOWS)
        return;
    if (frame == 0)
        PSG = SET_NOISE | (effect->noise ? effect->noise : NOISE_RESTS);
    set_volume(NOISE, effect->noise ? (u8)attenuation : SILENT);
}

/* ---- events of the latest game frame ---- */

#define AGE_OF_A_SHOT 1 /* age of a projectile on the frame of its release */

static void listen_to(u8 side)
{
    const struct fighter *f = &game.fighters[side];
    const struct spark *spark = &game.sparks[side];
    if (spark->kind && spark->frame == 0)
        begin(spark->kind == SPARK_BLOCK ? BLOCK_EFFECT : HIT_EFFECT);
    /* during hit stop ages do not advance: wait for its end, so that a sound does not start again and again */
    if (game.hit_stop)
        return;
    if (f->state == RISING_UP && f->frame == 0)
        begin(JUMP_EFFECT);
    if (f->projectile.flies && f->projectile.age == AGE_OF_A_SHOT)
        begin(SHOT_EFFECT);
}

static void listen(void)
{
    if (game.phase < PHASE_FIGHT)
        return;
    for (u8 side = 0; side < SIDES; side++)
        listen_to(side);
    if (game.phase_frame)
        return;
    if (game.phase == PHASE_FIGHT)
        begin(BELL_EFFECT);
    u8 knocked_out = game.fighters[0].hp == KNOCKED_OUT || game.fighters[1].hp == KNOCKED_OUT;
    if (game.phase == PHASE_ROUND_OVER && knocked_out)
        begin(KNOCK_OUT_EFFECT);
}

/* ---- interface ---- */

void sound_init(void)
{
    /* the sixth FM channel plays samples instead of being synthesized */
    FM_ADDRESS = 0x2B;
    FM_VALUE = 0x80;
    for (u8 voice = 0; voice < TONES; voice++)
        end(voice);
}

void sound_step(u8 audible)
{
    if (audible)
        listen();
    for (u8 voice = 0; voice < TONES; voice++) {
        if (playing[voice].effect == NO_EFFECT)
            continue;
        if (audible)
            play_on(voice);
        else
            end(voice);
    }
}
