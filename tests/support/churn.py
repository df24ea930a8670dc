# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""churn.py ZONE...: makes and deletes entries of these zones, over and over, in the namespace it runs in.

Sources lie in 172.16.0.0/16, so that they can be told from others. Says "ready" when the first round of inserts is done;
ends when its standard input does.
"""

from __future__ import annotations

import select
import sys

from ansible_collections.netstate.kernel.plugins.module_utils._conntrack import messages, wire
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.channel import Channel
from conntrack_table import entry

EACH = 300


def whichever(request: bytes) -> bytes:
    """The body of a delete of the entry that has the request's tuple and zone, whatever its id."""
    layout = wire.locate(request)
    places = [layout[path] for path in ((wire.TUPLE_ORIG,), (wire.ZONE,)) if path in layout]
    return request[wire.FAMILY_AT : wire.BODY] + b"".join(request[start - 4 : (end + 3) & ~3] for start, end in places)


def main(zones: list[int]) -> None:
    inserts, deletes = [], []
    for zone in zones:
        for number in range(EACH):
            source = f"172.16.{number // 200}.{number % 200}"
            request = entry(source, zone=zone)
            inserts.append(request)
            deletes.append(messages.delete(whichever(request)))
    rounds = 0
    with Channel.open() as channel:
        while True:
            for requests in (inserts, deletes):
                for start in range(0, len(requests), 100):
                    channel.batch("churning", requests[start : start + 100])
                if not rounds:
                    print("ready", flush=True)
                rounds += 1
            if select.select([sys.stdin], [], [], 0)[0]:
                return


if __name__ == "__main__":
    main([int(zone) for zone in sys.argv[1:]])
