#!/bin/sh
set -e

# a program that is being installed must not be swapped meanwhile
if [ "$1" = upgrade ] && [ -d /run/systemd/system ]; then
	systemctl stop cartbarn-swap-back.service 2>/dev/null || true
	systemctl reset-failed cartbarn.service 2>/dev/null || true
fi

# postinst cannot tell an upgrade from an installation after a removal
if [ "$1" = install ]; then
	mkdir -p /usr/lib/cartbarn
	: >/usr/lib/cartbarn/is-new
fi

# the current program stays next to the new one, as a second name of the same file: nothing is copied
# (after an undone upgrade both names already belong to one file, which mv refuses)
last=/usr/lib/cartbarn/cartbarn
if [ "$1" = upgrade ] && [ "$2" != "@VERSION@" ] && [ -f "$last" ] && ! [ "$last" -ef "$last.previous" ]; then
	ln -f "$last" "$last.previous.new"
	mv -f "$last.previous.new" "$last.previous"
fi
