#!/bin/sh
# systemd calls this when cartbarn.service has failed. The program before decides what to do, as the new one may be what is
# broken; where it cannot, the service is only started again, unless a wrong setting (78) ended it.
program=/usr/lib/cartbarn/cartbarn
if [ -x "$program.previous" ]; then program=$program.previous; fi
"$program" swap-back && exit 0
if [ "$(systemctl show cartbarn.service --property=ExecMainStatus --value)" = 78 ]; then exit 0; fi
systemctl reset-failed cartbarn.service
exec systemctl start --no-block cartbarn.service
