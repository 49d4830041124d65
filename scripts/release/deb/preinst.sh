#!/bin/sh
set -e

# the program that has run so far stays beside the new one, as a second name of the same file: nothing is copied
last=/usr/lib/cartbarn/cartbarn
if [ "$1" = upgrade ] && [ "$2" != "@VERSION@" ] && [ -f "$last" ]; then
	ln -f "$last" "$last.previous.new"
	mv -f "$last.previous.new" "$last.previous"
fi
