/* Boot code of our Game Boy Advance cartridges: header, start-up, the interrupt handler.

   A game's Makefile says its name with -DGAME_NAME='"..."' (12 characters; gba.mk pads it). */

    .section .header, "ax", %progbits
    .arm
    .global _start
_start:
    b       reset
    .space  156                 @ 0x04 where commercial games have a logo: zeros, no logo bytes
    .ascii  GAME_NAME           @ 0xA0 name, 12 characters
    .ascii  "ZMBE"              @ 0xAC game code
    .ascii  "00"                @ 0xB0 maker
    .byte   0x96                @ 0xB2 fixed value
    .byte   0, 0                @ 0xB3 unit, device
    .space  7
    .byte   0                   @ 0xBC version
    .byte   0                   @ 0xBD header checksum, set by finish_rom.py
    .space  2
reset:                          @ 0xC0
    b       boot                @ mGBA takes a small ROM for a multiboot image, and boots it to a white screen,
    nop                         @ if among its first 80 words one loads 0x02......; a branch over nothing
boot:                           @ at 0xC0 tells it that this is a cartridge
    mov     r0, #0x12           @ interrupt mode: its stack
    msr     cpsr_c, r0
    ldr     sp, =0x03007FA0
    mov     r0, #0x1F           @ system mode, interrupts on: ours
    msr     cpsr_c, r0
    ldr     sp, =0x03007F00

    ldr     r0, =__bss_start
    ldr     r1, =__bss_end
    bl      clear
    ldr     r0, =__published_start
    ldr     r1, =__ewram_end
    bl      clear
    ldr     r0, =__data_start   @ initial values of variables
    ldr     r1, =__data_end
    ldr     r2, =__data_load
copy:
    cmp     r0, r1
    ldrlo   r3, [r2], #4
    strlo   r3, [r0], #4
    blo     copy

    ldr     r0, =0x03FFFFFC     @ where the BIOS looks for the interrupt handler
    ldr     r1, =interrupt
    str     r1, [r0]
    ldr     r0, =main
    mov     lr, pc
    bx      r0
halt:
    b       halt

clear:                          @ the words from r0 up to r1
    mov     r2, #0
clear_next:
    cmp     r0, r1
    strlo   r2, [r0], #4
    blo     clear_next
    bx      lr

interrupt:                      @ acknowledge whatever came, for the hardware and for the BIOS (VBlankIntrWait)
    mov     r0, #0x04000000
    add     r0, r0, #0x200
    ldr     r1, [r0]            @ enabled | requested << 16
    and     r1, r1, r1, lsr #16
    strh    r1, [r0, #2]
    ldr     r2, =0x03FFFFF8
    ldrh    r3, [r2]
    orr     r3, r3, r1
    strh    r3, [r2]
    bx      lr
    .pool
