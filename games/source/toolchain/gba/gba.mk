# Builds rom.gba of a Game Boy Advance game. A game's Makefile sets
#   GAME     its name in the header, at most 12 characters
#   FOLDER   where the ROM goes
#   SOURCES  its C files
#   BUILD    the folder of what is made on the way, "build" if it is not set
#   HEADERS  its headers, generated ones too: everything is compiled again when one changes
# and includes this file. The same compiler gives the same bytes: no paths, dates or build ids go in.
TOOLCHAIN := $(dir $(lastword $(MAKEFILE_LIST)))
CROSS ?= arm-none-eabi-
PYTHON ?= python3
BUILD ?= build

GBA_FLAGS := -mcpu=arm7tdmi -mthumb -mthumb-interwork -O2 -std=gnu11 -ffreestanding -fno-builtin -fno-strict-aliasing \
  -nostdlib -static -fno-ident -ffile-prefix-map=$(abspath .)=. -Wall -Wextra -Werror -I. -I$(TOOLCHAIN)
LINK_FLAGS := -T $(TOOLCHAIN)cartridge.ld -Wl,--build-id=none -Wl,--no-warn-rwx-segments
PADDED_NAME = $(shell printf '%-12.12s' '$(GAME)' | tr ' ' '~')

$(FOLDER)/rom.gba: $(SOURCES) $(HEADERS) $(wildcard $(TOOLCHAIN)*)
	@mkdir -p $(BUILD)
	$(CROSS)gcc $(GBA_FLAGS) $(LINK_FLAGS) -DGAME_NAME='"$(subst ~, ,$(PADDED_NAME))"' -o $(BUILD)/game.elf \
	  $(TOOLCHAIN)crt0.S $(SOURCES) $(TOOLCHAIN)runtime.c -lgcc
	$(CROSS)objcopy -O binary $(BUILD)/game.elf $(BUILD)/rom.gba
	$(PYTHON) $(TOOLCHAIN)finish_rom.py $(BUILD)/rom.gba
	chmod 644 $(BUILD)/rom.gba
	mv $(BUILD)/rom.gba $@

$(FOLDER)/rom.sha: $(FOLDER)/rom.gba
	sha1sum $< | cut -d' ' -f1 > $@
