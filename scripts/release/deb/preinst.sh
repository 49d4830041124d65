#!/bin/sh
set -e

# what is being put in place is not to be swapped meanwhile
if [ "$1" = upgrade ] && [ -d /run/systemd/system ]; then
	systemctl stop cartbarn-swap-back.service 2>/dev/null || true
	systemctl reset-failed cartbarn.service 2>/dev/null || true
fi

# postinst cannot tell an upgrade from an installation after a removal
if [ "$1" = install ]; then
	mkdir -p /usr/lib/cartbarn
	: >/usr/lib/cartbarn/is-new
fi

# the program that has run so far stays beside the new one, as a second name of the same file: nothing is copied
# (after an upgrade that was undone both names are of one file already, which mv refuses)
last=/usr/lib/cartbarn/cartbarn
if [ "$1" = upgrade ] && [ "$2" != "@VERSION@" ] && [ -f "$last" ] && ! [ "$last" -ef "$last.previous" ]; then
	ln -f "$last" "$last.previous.new"
	mv -f "$last.previous.new" "$last.previous"
fi
