#!/bin/sh
# Commands of a person act on the gateway that runs as a service: they have its settings.
: "${CARTBARN_CONFIG=/etc/cartbarn/cartbarn.conf}"
export CARTBARN_CONFIG
exec /usr/lib/cartbarn/cartbarn "$@"
