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
# settings may be secrets
chown root:cartbarn /etc/cartbarn/cartbarn.conf
chmod 0640 /etc/cartbarn/cartbarn.conf

# a file that somebody has deleted stays so, and one that somebody has changed too
announced=/etc/avahi/services/cartbarn.service
if [ -z "$2" ] && [ -d /etc/avahi/services ] && [ ! -e "$announced" ]; then
	install -m 0644 /usr/lib/cartbarn/avahi.service "$announced"
elif [ -f "$announced" ]; then
	sed -i 's/>version=[^<]*</>version=@VERSION@</' "$announced"
fi

deb-systemd-helper unmask cartbarn.service >/dev/null || true
if deb-systemd-helper --quiet was-enabled cartbarn.service; then
	deb-systemd-helper enable cartbarn.service >/dev/null || true
else
	deb-systemd-helper update-state cartbarn.service >/dev/null || true
fi
if [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
	# starts of the program before do not count for this one
	systemctl reset-failed cartbarn.service 2>/dev/null || true
	if [ -n "$2" ]; then action=restart; else action=start; fi
	# it returns when the gateway listens; one that does not start must not leave the package half installed
	deb-systemd-invoke "$action" cartbarn.service >/dev/null ||
		echo "cartbarn does not run: 'journalctl -u cartbarn' says why." >&2
fi
if [ -e "$data/admin-key.txt" ]; then
	echo "cartbarn: the key of the admin and the setup code are in $data/admin-key.txt."
fi
