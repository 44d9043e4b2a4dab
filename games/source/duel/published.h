/* What Duel publishes, and what a host may write. README.md says the same in words, data.json all but the queue.

   The first block has the addresses and types of a Street Fighter II cartridge's map, so that one
   data_sf2.json serves both. The second block is our own. */
#ifndef PUBLISHED_H
#define PUBLISHED_H

#include "console.h"

/* ---- the shared map ---- */
#define AGENT_STATUS WORD_AT(0xFF8002)
#define AGENT_X WORD_AT(0xFF8006)
#define AGENT_Y WORD_AT(0xFF800A)
#define AGENT_HP WORD_AT(0xFF8042)
#define RESET_COUNTDOWN BYTE_AT(0xFF81D5)
#define AGENT_VICTORIES BYTE_AT(0xFF81DA)
#define SCORE LONG_AT(0xFF81E8) /* eight decimal digits */
#define ENEMY_STATUS WORD_AT(0xFF8282)
#define ENEMY_X WORD_AT(0xFF8286)
#define ENEMY_Y WORD_AT(0xFF828A)
#define ENEMY_HP WORD_AT(0xFF82C2)
#define ENEMY_VICTORIES BYTE_AT(0xFF845A)  /* the last byte of a long at 0xFF8457; the others stay 0 */
#define ENEMY_CHARACTER BYTE_AT(0xFF845B)  /* the host may write it */
#define ROUND_COUNTDOWN WORD_AT(0xFF972A)  /* decimal: seconds, frames */

/* Values of a status. */
enum {
    STATUS_STAND = 512, STATUS_CROUCH = 514, STATUS_JUMP = 516, STATUS_BLOCK = 518,
    STATUS_ATTACK = 520, STATUS_SPECIAL = 522, STATUS_HIT = 524,
};

/* RESET_COUNTDOWN is this on the frames after a match was decided: the episode's end. */
#define RESET_DECIDED 10

/* ---- our own block ---- */
#define MAGIC LONG_AT(0xFF9000)
#define MAGIC_VALUE 0x4455454C /* "DUEL" */
#define FRAME LONG_AT(0xFF9004)
/* the host may write these eight, and from PACE on */
#define SEED LONG_AT(0xFF9008)
#define MODE WORD_AT(0xFF900C)
#define AGENT_LEVEL WORD_AT(0xFF900E)
#define ENEMY_LEVEL WORD_AT(0xFF9010)
#define AGENT_CHARACTER WORD_AT(0xFF9012)
#define STAGE WORD_AT(0xFF9014)
#define BLANK WORD_AT(0xFF9016)  /* 1: draw nothing, which is faster to emulate; the rules are the same */
#define START WORD_AT(0xFF9018)  /* write 1: a new match begins with these settings; back to 0 once it has */
/* for looking only */
#define PHASE WORD_AT(0xFF901A)
#define ROUND WORD_AT(0xFF901C)
#define HIT_STOP WORD_AT(0xFF901E)
#define AGENT_PAD WORD_AT(0xFF9020)  /* as the rules saw it this frame */
#define ENEMY_PAD WORD_AT(0xFF9022)
#define AGENT_MOVE WORD_AT(0xFF9024)
#define ENEMY_MOVE WORD_AT(0xFF9026)
#define AGENT_MOVE_FRAME WORD_AT(0xFF9028)
#define ENEMY_MOVE_FRAME WORD_AT(0xFF902A)
#define AGENT_STUN WORD_AT(0xFF902C)
#define ENEMY_STUN WORD_AT(0xFF902E)
#define AGENT_ACTIONABLE WORD_AT(0xFF9030)
#define ENEMY_ACTIONABLE WORD_AT(0xFF9032)
#define AGENT_PROJECTILE_X WORD_AT(0xFF9034) /* 0: none */
#define ENEMY_PROJECTILE_X WORD_AT(0xFF9036)
#define AGENT_LANDED LONG_AT(0xFF9038) /* bit m: move m has hit (not blocked) in this match */
#define ENEMY_LANDED LONG_AT(0xFF903C)
#define DEMO WORD_AT(0xFF9040)
#define TIME_OUTS WORD_AT(0xFF9042) /* rounds of this match that the clock ended */
#define PACE WORD_AT(0xFF9044) /* frames played in one of the console's, with the same pads: at most so many, and fewer when there is no time for more */
#define MOST_PACE 12
#define QUEUED WORD_AT(0xFF9046) /* 1: pad 1 is taken from QUEUE, from its beginning in each of the console's frames */
#define QUEUE(n) WORD_AT(0xFF9048 + 2 * (n)) /* what it holds on each frame played in one of the console's, as AGENT_PAD shows it */

enum { MODE_PAD_CPU, MODE_PAD_PAD, MODE_CPU_CPU, MODES };
enum { PHASE_TITLE, PHASE_SELECT, PHASE_INTRO, PHASE_FIGHT, PHASE_ROUND_OVER, PHASE_MATCH_OVER };
#define LEVELS 10
#define STAGES 4

#endif
