#!/bin/sh
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# fill-table.sh NAMESPACE EACH ZONE...: makes EACH connections in each zone of a network namespace, seven of ten TCP, the others UDP.
set -eu
command -v conntrack >/dev/null || { echo "the command conntrack is missing (package conntrack)" >&2; exit 1; }
namespace=$1
each=$2
shift 2

requests() {
    for zone in "$@"; do
        awk -v zone="$zone" -v each="$each" 'BEGIN {
            for (i = 0; i < each; i++) {
                printf "-I -s 10.%d.%d.%d -d 192.0.2.10 -t 600 -w %d ", zone % 256, i / 250, i % 250 + 1, zone
                # The protocol comes before its ports.
                if (i % 10 < 7) printf "-p tcp --state ESTABLISHED -u SEEN_REPLY,ASSURED --dport 443 --sport %d\n", 20000 + i
                else printf "-p udp --dport 53 --sport %d\n", 20000 + i
            }
        }'
    done
}

if conntrack --load-file /dev/null 2>/dev/null; then
    requests "$@" | ip netns exec "$namespace" conntrack --load-file -
else # before conntrack 1.4.7
    # shellcheck disable=SC2016
    requests "$@" | ip netns exec "$namespace" sh -c 'while read -r request; do conntrack $request || exit; done' 2>/dev/null
fi
