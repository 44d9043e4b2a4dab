/* The variables that Duel publishes, and those that a host may write. README.md describes them; data.json
   lists all but the queue.

   The first block has the addresses and types of our map of a Street Fighter II cartridge, so that one
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
#define SCORE LONG_AT(0xFF81E8) /* eight BCD digits */
#define ENEMY_STATUS WORD_AT(0xFF8282)
#define ENEMY_X WORD_AT(0xFF8286)
#define ENEMY_Y WORD_AT(0xFF828A)
#define ENEMY_HP WORD_AT(0xFF82C2)
#define ENEMY_VICTORIES BYTE_AT(0xFF845A)  /* the last byte of a long at 0xFF8457; the others stay 0 */
#define ENEMY_CHARACTER BYTE_AT(0xFF845B)  /* the host may write it */
#define ROUND_COUNTDOWN WORD_AT(0xFF972A)  /* BCD: seconds, frames */

/* Values of a status. */
enum {
    STATUS_STAND = 512, STATUS_CROUCH = 514, STATUS_JUMP = 516, STATUS_BLOCK = 518,
    STATUS_ATTACK = 520, STATUS_SPECIAL = 522, STATUS_HIT = 524,
};

/* RESET_COUNTDOWN on the first frames after a match was decided, which ends the episode. */
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
#define BLANK WORD_AT(0xFF9016)  /* 1: draw nothing, which is faster to emulate; the rules do not change */
#define START WORD_AT(0xFF9018)  /* write 1 to begin a new match with these settings; the game resets it to 0 */
/* read-only */
#define PHASE WORD_AT(0xFF901A)
#define ROUND WORD_AT(0xFF901C)
#define HIT_STOP WORD_AT(0xFF901E)
#define AGENT_PAD WORD_AT(0xFF9020)  /* as the rules read it on this frame */
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
#define TIME_OUTS WORD_AT(0xFF9042) /* rounds of this match that ended by time-out */
#define PACE WORD_AT(0xFF9044) /* most game frames in one console frame, with the same pads; fewer if time is short */
#define MOST_PACE 12
#define QUEUED WORD_AT(0xFF9046) /* 1: pad 1 comes from QUEUE, which starts over in each console frame */
#define QUEUE(n) WORD_AT(0xFF9048 + 2 * (n)) /* pad 1 on game frame n of a console frame; bits as in AGENT_PAD */

enum { MODE_PAD_CPU, MODE_PAD_PAD, MODE_CPU_CPU, MODES };
enum { PHASE_TITLE, PHASE_SELECT, PHASE_INTRO, PHASE_FIGHT, PHASE_ROUND_OVER, PHASE_MATCH_OVER };
#define LEVELS 10
#define STAGES 4

#endif
