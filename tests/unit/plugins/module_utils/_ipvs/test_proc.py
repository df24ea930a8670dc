# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import rules
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs.wording import RulesError
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import OptionError

DATA = pathlib.Path(__file__).parents[3] / "data"
HEAD = """\
IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
"""

# As the kernel printed them on 7.2, and the rules that made them.
PRINTED = """\
UDP  0A000001:0035 rr ops  \n\
SCTP  0A00000A:0050 lc  \n\
FWM  FFFFFFFF rr \n\
  -> 0A010001:0000      Route   1      0          0         \n\
FWM  00000002 rr persistent 3000 80000000
  -> [2001:0db8:0000:0000:0000:0000:0000:0005]:0050      Route   2      1          9         \n\
TCP  0A000002:0000 rr  persistent 36000 FFFFFFFF
TCP  [2001:0db8:0000:0000:0000:0000:0000:0001]:01BB rr persistent 60000 40000000
TCP  0A000001:0050 wrr  \n\
  -> [2001:0db8:0000:0000:0000:0000:0000:0005]:0050      Tunnel  1      0          0         \n\
  -> 0A010001:0050      Masq    0      0          0         \n\
UDP  0A000009:13C4 rr ops  persistent 6000 FFFFFFFF
TCP  0A00000C:0050 none  \n\
FWM  00000001 rr ops \n\
  -> 0A010001:0000      Tunnel  1      0          0         \n\
TCP  0A000003:01BB mh  persistent 60000 FFFFFF00
"""
MADE_BY = """\
-A -u 10.0.0.1:53 -s rr -o
-A --sctp-service 10.0.0.10:80 -s lc
-A -f -1 -s rr
-a -f -1 -r 10.1.0.1 -g
-A -f 2 -6 -s rr -p 30
-a -f 2 -6 -r [2001:db8::5]:80 -g -w 2
-A -t 10.0.0.2:0 -s rr -p 360
-A -t [2001:db8::1]:443 -s rr -p 600 -M 64
-A -t 10.0.0.1:80 -s wrr
-a -t 10.0.0.1:80 -r [2001:db8::5]:80 -i
-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 0
-A -u 10.0.0.9:5060 -s rr -o -p 60
-A -t 10.0.0.12:80 -s none
-A -f 1 -s rr -o
-a -f 1 -r 10.1.0.1 -i
-A -t 10.0.0.3:443 -s mh -p 600 -M 255.255.255.0
"""


def test_the_kernels_text():
    assert rules.parse_table(HEAD + PRINTED, hz=100) == rules.parse_table(MADE_BY)


def test_big_endian_ipv6_mask():
    line = "TCP  [2001:0db8:0000:0000:0000:0000:0000:0001]:01BB rr persistent 60000 00000040\n"
    assert rules.parse_table(HEAD + line, hz=100) == rules.parse_table("-A -t [2001:db8::1]:443 -s rr -p 600 -M 64")


def test_a_real_file():
    table = rules.parse_table((DATA / "proc_net_ip_vs.mixed.txt").read_text())
    assert len(table) == 5
    text = rules.render(table)
    assert "-a -t 192.168.0.57:3306 -r 192.168.84.22:3306 -i -w 0 --tun-type ipip\n" in text
    assert "-A -f 268439552 -s wlc\n" in text


REFUSED = {
    "FWM  00000002 rr \n": "does not tell whether this is an IPv4 or an IPv6 service",
    "TCP  0A000002:0000 rr  persistent 36000 FFFFFFFF\n": "told in ticks",
    "TCP  0A000002:0050 rr  surprise\n": "neither a service nor",
    "ICMP 0A000002:0050 rr  \n": "neither a service nor",
    "  -> 0A010001:0000      Route   1      0          0\n": "neither a service nor",
    "FWM  00000000 rr \n  -> 0A010001:0000      Route   1      0          0\n": "no service has the fwmark 0",
    "TCP  [2001:0db8:0000:000::0000:0000:0000:0005]:01BB rr \n": "is no address",
    "FWM  00000001 rr \n  -> [2001:0db8:0000b0000:0000:0000:0000:0005]:0000      Route   1      0          0\n": "is no address",
    "TCP  0A000002:0000 rr  persistent " + "9" * 5000 + " FFFFFFFF\n": "neither a service nor",
    "TCP  0A000002:0050 rr  \n" * 2: "service tcp 10.0.0.2:80 was there before",
}


@pytest.mark.parametrize("text, why", REFUSED.items(), ids=REFUSED)
def test_refused(text, why):
    with pytest.raises(RulesError) as caught:
        rules.parse_table(HEAD + text)
    assert why in str(caught.value)
    line = caught.value.line
    assert str(caught.value).startswith(f"line {line}: {(HEAD + text).splitlines()[line - 1].strip()}: ")


@pytest.mark.parametrize("hz", [0, -100, "many", 1.5])
def test_ticks_that_no_kernel_has_are_refused(hz):
    with pytest.raises(OptionError, match="hz: "):
        rules.parse_table(HEAD + PRINTED, hz=hz)


def test_what_ipvsadm_lists_is_refused():
    with pytest.raises(RulesError, match="take ipvsadm -Sn"):
        rules.parse_table((DATA / "ipvsadm-ln.kube-proxy.txt").read_text())
