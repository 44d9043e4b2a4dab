/* All tiles, as gen_art.py drew them. */
    .section .rodata
    .balign 4
    .global art_tiles
art_tiles:
    .incbin "build/tiles.bin"
