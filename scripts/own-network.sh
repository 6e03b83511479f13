#!/bin/sh
# Runs node with these arguments in a separate network with loopback only.
exec unshare --net sh -c 'ip link set lo up && exec "$0" "$@"' "$(dirname "$0")/../node_modules/.bin/node" "$@"
