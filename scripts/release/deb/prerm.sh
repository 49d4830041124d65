#!/bin/sh
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	# stops the unit first that would restart the other
	systemctl stop cartbarn-swap-back.service 2>/dev/null || true
	deb-systemd-invoke stop cartbarn.service cartbarn-hub.service >/dev/null || true
fi
