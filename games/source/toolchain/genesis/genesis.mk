# Builds rom.md of a Genesis game. A game's Makefile sets
#   GAME     its name in the header, at most 48 characters
#   FOLDER   where the ROM goes
#   SOURCES  its C files
#   HEADERS  its headers, generated ones too: everything is compiled again when one changes
# and includes this file. The same compiler gives the same bytes: no paths, dates or build ids go in.
TOOLCHAIN := $(dir $(lastword $(MAKEFILE_LIST)))
CROSS ?= m68k-linux-gnu-
PYTHON ?= python3

# -fno-store-merging: see check_object.py
GENESIS_FLAGS := -m68000 -mstrict-align -fno-store-merging -O2 -std=gnu11 -ffreestanding -fno-builtin \
  -fno-strict-aliasing -fno-pic -fomit-frame-pointer -nostdlib -static -fno-ident -ffile-prefix-map=$(abspath .)=. \
  -Wall -Wextra -Werror -Wno-array-bounds -I. -I$(TOOLCHAIN)
LINK_FLAGS := -T $(TOOLCHAIN)cartridge.ld -Wl,--build-id=none -Wl,-z,noexecstack
PADDED_NAME = $(shell printf '%-48.48s' '$(GAME)' | tr ' ' '~')

$(FOLDER)/rom.md: $(SOURCES) $(HEADERS) $(wildcard $(TOOLCHAIN)*)
	@mkdir -p build
	$(CROSS)gcc $(GENESIS_FLAGS) $(LINK_FLAGS) -DGAME_NAME='"$(subst ~, ,$(PADDED_NAME))"' -o build/game.elf \
	  $(TOOLCHAIN)crt0.S $(SOURCES) $(TOOLCHAIN)runtime.c $(TOOLCHAIN)pads.c
	$(PYTHON) $(TOOLCHAIN)check_object.py build/game.elf
	$(CROSS)objcopy -O binary -j .text -j .rodata -j .data build/game.elf build/rom.md
	$(PYTHON) $(TOOLCHAIN)finish_rom.py build/rom.md
	chmod 644 build/rom.md
	mv build/rom.md $@

$(FOLDER)/rom.sha: $(FOLDER)/rom.md
	sha1sum $< | cut -d' ' -f1 > $@
