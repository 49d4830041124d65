#!/bin/sh
set -e

data=/var/lib/cartbarn
if [ "$1" = remove ]; then
	rm -f /usr/lib/cartbarn/cartbarn.previous /usr/lib/cartbarn/cartbarn.swap /usr/lib/cartbarn/is-new
	rm -f /etc/avahi/services/cartbarn.service
	rmdir /usr/lib/cartbarn 2>/dev/null || true
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
	fi
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper mask cartbarn.service >/dev/null || true
	fi
fi
if [ "$1" = purge ]; then
	rm -f /etc/cartbarn/cartbarn.conf /etc/cartbarn/cartbarn.conf.new /etc/cartbarn/hub.conf
	rmdir /etc/cartbarn 2>/dev/null || true
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper purge cartbarn.service >/dev/null || true
		deb-systemd-helper unmask cartbarn.service >/dev/null || true
	fi
fi
[ ! -d "$data-hub" ] || data="$data $data-hub"
if { [ "$1" = remove ] || [ "$1" = purge ]; } && [ -d "${data%% *}" ]; then
	# the history of a course is not settings: only the admin deletes it
	echo "cartbarn: all data stays in $data; 'rm -r $data && userdel cartbarn' deletes it."
fi
