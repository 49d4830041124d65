#!/bin/sh
# Commands of a user act on the gateway that runs as a service, with its settings.
: "${CARTBARN_CONFIG=/etc/cartbarn/cartbarn.conf}"
export CARTBARN_CONFIG
exec /usr/lib/cartbarn/cartbarn "$@"
