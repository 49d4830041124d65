#!/bin/sh
set -e

[ "$1" = configure ] || exit 0

data=/var/lib/cartbarn
if ! getent passwd cartbarn >/dev/null; then
	useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin cartbarn
fi
if [ ! -e "$data" ]; then
	install -d -m 0700 -o cartbarn -g cartbarn "$data"
fi
# The settings are written once and belong to the admin from then on: dpkg compares no conffile and asks nothing. Up to
# 1.0.0 the file was a conffile, which stays as it is.
programs=/usr/lib/cartbarn
settings=/etc/cartbarn/cartbarn.conf
if [ ! -e "$settings" ] && [ ! -L "$settings" ]; then
	install -m 0600 "$programs/cartbarn.conf" "$settings.new"
	mv "$settings.new" "$settings"
fi
# settings may contain secrets
if [ -f "$settings" ]; then
	chown root:cartbarn "$settings"
	chmod 0640 "$settings"
fi

# a file that an admin has deleted stays deleted, and a changed one stays changed; avahi reads a file as soon as it has
# this name, so it is renamed once it is complete and readable for all
announced=/etc/avahi/services/cartbarn.service
if [ -e "$programs/is-new" ] && [ -d /etc/avahi/services ] && [ ! -e "$announced" ]; then
	install -m 0644 "$programs/avahi.service" "$announced.new"
	mv "$announced.new" "$announced"
elif [ -f "$announced" ]; then
	sed 's/>version=[^<]*</>version=@VERSION@</' "$announced" >"$announced.new"
	chmod 0644 "$announced.new"
	mv "$announced.new" "$announced"
fi
rm -f "$programs/is-new"

deb-systemd-helper unmask cartbarn.service >/dev/null || true
if deb-systemd-helper --quiet was-enabled cartbarn.service; then
	deb-systemd-helper enable cartbarn.service >/dev/null || true
else
	deb-systemd-helper update-state cartbarn.service >/dev/null || true
fi
if [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
	# starts of the previous program do not count for this one
	systemctl reset-failed cartbarn.service 2>/dev/null || true
	if [ -n "$2" ]; then action=restart; else action=start; fi
	# returns when the gateway listens; one that does not start must not leave the package half installed
	deb-systemd-invoke "$action" cartbarn.service >/dev/null ||
		echo "cartbarn does not run: 'journalctl -u cartbarn' says why." >&2
	# a hub only if an admin has started one
	if [ -n "$2" ]; then systemctl try-restart cartbarn-hub.service >/dev/null || true; fi
fi
if [ -e "$data/admin-key.txt" ]; then
	echo "cartbarn: the key of the admin and the setup code are in $data/admin-key.txt."
fi
