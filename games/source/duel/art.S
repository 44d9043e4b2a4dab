/* All tiles, drawn by gen_art.py. */
    .section .rodata
    .balign 4
    .global art_tiles
art_tiles:
    .incbin "build/tiles.bin"
