/* Boot code of our Genesis cartridges: vectors, header, start-up, waiting for the vertical blank.

   A game's Makefile says its name with -DGAME_NAME='"..."' (48 characters; genesis.mk pads it). */

    .section .vectors,"ax",@progbits
    .global _start
    .long   __stack_top             | initial stack pointer
    .long   _start                  | where to begin
    .rept   26                      | bus error, address error, ... level 3
    .long   trap
    .endr
    .long   ignore                  | level 4: horizontal blank, never enabled
    .long   trap
    .long   vertical_blank          | level 6: vertical blank
    .long   trap
    .rept   32                      | TRAP instructions and reserved
    .long   trap
    .endr

    /* 0x100: the header. Only an emulator reads it, so the console's name field holds our own words:
       no logo bytes. "J6" at 0x190 makes the emulator plug in 6-button pads. */
    .ascii  "MINIBRAINS      "      | 0x100 system
    .ascii  "(C)MINI 2026.NOV"      | 0x110 who, when
    .ascii  GAME_NAME               | 0x120 name in Japan, 48 characters
    .ascii  GAME_NAME               | 0x150 name elsewhere
    .ascii  "GM 00000000-00"        | 0x180 serial number
    .word   0                       | 0x18E checksum, set by finish_rom.py
    .ascii  "J6              "      | 0x190 devices: 3-button and 6-button pads
    .long   0x00000000, 0x0007FFFF  | 0x1A0 ROM; its end is set by finish_rom.py
    .long   0x00FF0000, 0x00FFFFFF  | 0x1A8 work RAM
    .ascii  "            "          | no battery RAM
    .ascii  "            "          | no modem
    .ascii  "                                        "
    .ascii  "JUE             "      | 0x1F0 regions

    .text
_start:
    move.w  #0x2700,%sr             | no interrupts while setting up
    lea     __stack_top,%sp
    tst.w   0xC00004                | clears a half-written VDP command
    move.w  #0x0100,0xA11100        | hold the Z80: these games have no sound program
    move.w  #0x0100,0xA11200
    move.b  #0x40,0xA10009          | both pads: TH is an output
    move.b  #0x40,0xA1000B
    move.b  #0x9F,0xC00011          | PSG: all four channels silent
    move.b  #0xBF,0xC00011
    move.b  #0xDF,0xC00011
    move.b  #0xFF,0xC00011
    lea     0x00FF0000,%a0          | clear work RAM, except the last 256 bytes (the stack in use is empty)
    move.w  #0x3FBF,%d0
    moveq   #0,%d1
clear:
    move.l  %d1,(%a0)+
    dbra    %d0,clear
    lea     __data_load,%a0         | initial values of variables
    lea     __data_start,%a1
    lea     __data_end,%a2
copy:
    cmp.l   %a2,%a1
    bge.s   start
    move.l  (%a0)+,(%a1)+
    bra.s   copy
start:
    jsr     main
trap:
    bra.s   trap
ignore:
    rte
vertical_blank:
    rte

    /* void vsync(void): sleep until the next vertical blank. Sleeping in STOP is several times faster
       to emulate than polling the VDP. */
    .global vsync
vsync:
    stop    #0x2000                 | interrupts on, wait for one
    move.w  #0x2700,%sr             | and off again
    rts
