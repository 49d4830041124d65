#!/bin/sh
# Called by systemd when cartbarn.service has failed. The previous program decides what to do, as the new one may be
# broken; if it cannot, the service is only started again, unless a wrong setting (78) ended it.
programs=/usr/lib/cartbarn
show() { systemctl show cartbarn.service --property="$1" --value; }

# An upgrade has failed only if the program failed on its own before it was ready. One that was ready can run, whatever
# ended it afterwards; a clean exit, a kill from outside and a sandbox that systemd cannot set up are not faults of the
# program.
failed_by_itself() {
	[ "$(show ActiveEnterTimestampMonotonic)" -lt "$(show ExecMainStartTimestampMonotonic)" ] 2>/dev/null || return 1
	case "$(show Result)" in
	timeout) return 0 ;;
	oom-kill) return 1 ;;
	esac
	# the codes of waitid(2): 1 is an exit, 2 and 3 are signals; the statuses 200 and on are of systemd.exec(5)
	case "$(show ExecMainCode) $(show ExecMainStatus)" in
	'1 0') return 1 ;;
	'1 203') return 0 ;;
	'1 2'[0-4][0-9]) return 1 ;;
	1\ * | [23]\ [45678] | [23]\ 11 | [23]\ 31) return 0 ;;
	*) return 1 ;;
	esac
}

program=$programs/cartbarn
if [ -x "$program.previous" ]; then program=$program.previous; fi
if ! failed_by_itself; then
	echo 'What ended the gateway is no fault of an upgrade: no other program takes its place.'
	# without another program every version only starts the service again
	programs=/nonexistent
fi
"$program" swap-back --programs "$programs" && exit 0
if [ "$(show ExecMainStatus)" = 78 ]; then exit 0; fi
systemctl reset-failed cartbarn.service
exec systemctl start --no-block cartbarn.service
