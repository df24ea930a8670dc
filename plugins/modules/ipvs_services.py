#!/usr/bin/python
# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: ipvs_services
short_description: Reconcile the virtual services of IPVS with a desired state
version_added: 0.1.0
author:
  - netstate maintainers (@netstate)
description:
  - Makes the virtual services of a Linux Virtual Server what O(config) says, by the difference to what the kernel holds. Nothing is remembered
    between runs, and nothing is cleared and loaded again.
  - New services and destinations come first, changes next, and only then others go; destinations that go can be drained before.
  - Every change is read back. The task fails if the kernel then holds something else.
  - Anything that was not named stays, unless O(state=overridden) and O(scope) say otherwise.
  - Other programs may write to the table at the same time. What they get in the way of is read and planned anew, ten times at most.
options:
  config:
    description:
      - Services. Required by the states that change something, and by O(state=rendered).
      - A service is named by O(config[].protocol), O(config[].address) and O(config[].port), or by O(config[].fwmark) and O(config[].family).
      - What is left out takes its default, except with O(state=merged), where a service or destination that is there keeps what it has.
    type: list
    elements: dict
    suboptions:
      protocol:
        description: Protocol.
        type: str
        choices: [tcp, udp, sctp]
      address:
        description: Virtual address, IPv4 or IPv6.
        type: str
      port:
        description: Port, V(0) for all, which needs O(config[].persistence).
        type: int
      fwmark:
        description: Firewall mark, decimal or hexadecimal.
        type: str
      family:
        description: Address family of a service by O(config[].fwmark), V(ipv4) by default.
        type: str
        choices: [ipv4, ipv6]
      scheduler:
        description: How connections are given to destinations, such as V(rr), V(wrr), V(lc), V(wlc), V(sh), V(mh); by default V(wlc). V(none) is none.
        type: str
      scheduler_flags:
        description:
          - Flags of the scheduler, by default none. V(sh-fallback) and V(sh-port) for V(sh), V(mh-fallback) and V(mh-port) for V(mh), V(flag-1), V(flag-2),
            V(flag-3) for any.
        type: list
        elements: str
      persistence:
        description: Clients keep their destination; by default they do not.
        type: dict
        suboptions:
          timeout:
            description: For how many seconds, by default 360, at most 2678400. V(0) is no persistence.
            type: int
          netmask:
            description: Clients of one network count as one; a prefix length, or a mask such as V(255.255.255.0). By default each client counts.
            type: str
          engine:
            description: Persistence engine, such as V(sip). By default none, which can be said by an empty string.
            type: str
      one_packet:
        description: Schedule each packet by itself, for UDP and O(config[].fwmark) only; by default V(false).
        type: bool
      destinations:
        description:
          - Where connections go.
          - With O(state=replaced) and O(state=overridden), destinations that are not listed go. Left out altogether, the destinations that there are stay.
        type: list
        elements: dict
        suboptions:
          address:
            description: Address, of the service's family except with O(config[].destinations[].forward=tunnel).
            type: str
            required: true
          port:
            description: Port, by default that of the service. Together with the address it names the destination.
            type: int
          forward:
            description: How packets get there. By default V(direct), as in ipvsadm.
            type: str
            choices: [masquerade, direct, tunnel]
          weight:
            description: Weight, by default 1. With V(0) it gets no new connections.
            type: int
          upper_threshold:
            description: Connections above which it gets no new ones. V(0), the default, is no limit.
            type: int
          lower_threshold:
            description: Connections below which it gets new ones again. V(0), the default, is three quarters of the upper threshold.
            type: int
          tunnel:
            description: The tunnel, with O(config[].destinations[].forward=tunnel).
            type: dict
            suboptions:
              type:
                description: Encapsulation, by default V(ipip).
                type: str
                choices: [ipip, gue, gre]
              port:
                description: Port of V(gue), which needs one.
                type: int
              checksum:
                description: By default V(none). V(csum) goes with V(gue) and V(gre), V(remcsum) with V(gue).
                type: str
                choices: [none, csum, remcsum]
  state:
    description:
      - V(merged) adds what is missing and changes what is named.
      - V(replaced) makes the named services exactly this; what is left out takes its default, and destinations of theirs that are not listed go.
      - V(overridden) does so too, and removes all other services inside O(scope).
      - V(deleted) removes the named services. Of a service that lists destinations, it removes these destinations and nothing else.
      - V(gathered) returns the services.
      - V(rendered) returns O(config) as text for C(ipvsadm-restore). It needs no kernel with IPVS.
      - V(parsed) returns O(running_config) in the form of O(config). It needs no kernel with IPVS.
    type: str
    choices: [merged, replaced, overridden, deleted, gathered, rendered, parsed]
    default: merged
  scope:
    description:
      - Which services O(state=overridden) may remove. Services outside are never touched, and O(config) may not name any.
      - Its options narrow each other, the values of one are alternatives. Where only one of O(scope.addresses) and O(scope.fwmarks) is given, services
        of the other kind are outside.
    type: dict
    suboptions:
      all:
        description: All services of the namespace; the only way to say so.
        type: bool
      addresses:
        description: Addresses, or networks in CIDR notation.
        type: list
        elements: str
      fwmarks:
        description: Firewall marks.
        type: list
        elements: str
      protocols:
        description: Protocols. Services by firewall mark have none.
        type: list
        elements: str
        choices: [tcp, udp, sctp]
      families:
        description: Address families.
        type: list
        elements: str
        choices: [ipv4, ipv6]
  drain:
    description:
      - What destinations go through before they are removed. They get weight 0, and are removed when their connections have ended or the time is up.
      - A run that was broken off is continued by the next one. A destination that is wanted again gets the weight that O(config) says.
    type: dict
    suboptions:
      connections:
        description: Which connections to wait for. V(all) adds inactive ones and persistence templates to the active ones. V(none) removes at once.
        type: str
        choices: [none, active, all]
        default: active
      timeout:
        description: How long, in seconds, for the task as a whole. At most 2678400.
        type: float
        default: 60
      interval:
        description: Seconds between two looks.
        type: float
        default: 1
      at_timeout:
        description: Whether to V(remove) what still has connections then, or V(keep) it at weight 0 and say so in RV(draining).
        type: str
        choices: [remove, keep]
        default: remove
      udp:
        description: Drain destinations of UDP services too. Their connections end by a timer only, five minutes by default.
        type: bool
        default: false
  running_config:
    description: What C(ipvsadm -S) printed, or the text of C(/proc/net/ip_vs), for O(state=parsed).
    type: str
  resolve_names:
    description: With O(state=parsed), resolve names of services and hosts instead of refusing them.
    type: bool
    default: false
  hz:
    description:
      - Ticks a second of the kernel that printed C(/proc/net/ip_vs) (C(CONFIG_HZ)), for O(state=parsed). Needed where a service in it is persistent, as the
        time is told in ticks.
    type: int
  load_modules:
    description:
      - Let the kernel load C(ip_vs) and the modules of schedulers and persistence engines where services are to exist. Nothing is loaded for the other states.
    type: bool
    default: true
extends_documentation_fragment:
  - netstate.kernel.attributes
  - netstate.kernel.attributes.actiongroup_all
  - netstate.kernel.netns
  - netstate.kernel.pyroute2
attributes:
  check_mode:
    support: full
    details:
      - Reads the same and tells the same steps. Connections are taken to stay as they are until the time of O(drain) is up.
      - Loads no module.
  diff_mode:
    support: full
    details:
      - Shows the services that the task has a say in, as lines of ipvsadm.
  idempotent:
    support: full
seealso:
  - module: netstate.kernel.ipvs_facts
  - module: netstate.kernel.ipvs_settings
  - plugin: netstate.kernel.ipvs_rules_parse
    plugin_type: filter
  - plugin: netstate.kernel.ipvs_rules_render
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Have a web service with two destinations, and leave all else alone
  netstate.kernel.ipvs_services:
    config:
      - protocol: tcp
        address: 192.0.2.10
        port: 443
        scheduler: wrr
        persistence:
          timeout: 600
        destinations:
          - address: 10.0.0.11
            forward: masquerade
            weight: 2
          - address: 10.0.0.12
            forward: masquerade
  become: true

- name: Exchange the destinations of a service without breaking connections
  netstate.kernel.ipvs_services:
    state: replaced
    config:
      - protocol: tcp
        address: 192.0.2.10
        port: 443
        scheduler: wrr
        persistence:
          timeout: 600
        destinations:
          - address: 10.0.0.21
            forward: masquerade
    drain:
      connections: active
      timeout: 300
  become: true

- name: Own everything on one network of virtual addresses, and nothing else
  netstate.kernel.ipvs_services:
    state: overridden
    config: "{{ director_services }}"
    scope:
      addresses:
        - 192.0.2.0/24
  become: true

- name: Take one destination out for maintenance, by hand
  netstate.kernel.ipvs_services:
    config:
      - fwmark: 1
        destinations:
          - address: 10.0.0.11
            weight: 0
  become: true
"""

RETURN = r"""
before:
  description: The services that the task has a say in, in the form of O(config), as they were.
  returned: when O(state) is V(merged), V(replaced), V(overridden) or V(deleted)
  type: list
  elements: dict
after:
  description: The same as they are now, read from the kernel. In check mode as they would be.
  returned: as RV(before)
  type: list
  elements: dict
commands:
  description: Each step as arguments of ipvsadm, in the order in which it was done. Thresholds are said, which C(ipvsadm -S) leaves out.
  returned: as RV(before)
  type: list
  elements: str
  sample: ['-a -t 192.0.2.10:443 -r 10.0.0.21:443 -m -w 1', '-d -t 192.0.2.10:443 -r 10.0.0.11:443']
operations:
  description: Kind of step to how many there were.
  returned: as RV(before)
  type: dict
  sample:
    add_service: 0
    change_service: 0
    delete_service: 0
    add_destination: 1
    change_destination: 0
    drain_destination: 0
    delete_destination: 1
draining:
  description: Destinations that were to go and are still there, at weight 0, for their connections.
  returned: as RV(before)
  type: list
  elements: dict
  contains:
    service:
      description: The service.
      type: str
      returned: always
      sample: tcp 192.0.2.10:443
    destination:
      description: The destination.
      type: str
      returned: always
      sample: 10.0.0.11:443
    active_connections:
      description: Its active connections.
      type: int
      returned: always
    inactive_connections:
      description: Its inactive connections.
      type: int
      returned: always
    persistent_connections:
      description: Its persistence templates.
      type: int
      returned: always
untouched:
  description: Services outside O(scope), which were left alone. Empty for other states than V(overridden).
  returned: as RV(before)
  type: list
  elements: str
  sample: ['udp 198.51.100.1:53', 'fwmark 1 ipv4']
gathered:
  description: All services of the namespace, in the form of O(config), sorted.
  returned: when O(state) is V(gathered)
  type: list
  elements: dict
rendered:
  description: O(config) as text.
  returned: when O(state) is V(rendered)
  type: str
parsed:
  description: O(running_config) in the form of O(config).
  returned: when O(state) is V(parsed)
  type: list
  elements: dict
unavailable_reason:
  description: Why there are no services at all (ip_vs is not loaded, say); V(null) else.
  returned: when O(state) is none of V(rendered), V(parsed)
  type: str
netns:
  description: The namespace that was asked for, V(null) for that of the module.
  returned: when O(state) is none of V(rendered), V(parsed)
  type: str
asked:
  description: What was being asked of the kernel.
  returned: on failure
  type: str
errno:
  description: The kernel's answer, by name.
  returned: on failure
  type: str
  sample: EINVAL
reason:
  description:
    - The likely cause, such as V(not_permitted), V(not_loaded), V(not_built), V(no_namespace), V(no_scheduler), V(refused), V(not_settled), V(unreadable);
      V(null) if none is known.
  returned: on failure
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.netstate.kernel.plugins.module_utils import _module
from ansible_collections.netstate.kernel.plugins.module_utils._ipvs import services


def _config_spec() -> dict:
    persistence = dict(
        timeout=dict(type="int"),
        netmask=dict(type="str"),
        engine=dict(type="str"),
    )
    tunnel = dict(
        type=dict(type="str", choices=["ipip", "gue", "gre"]),
        port=dict(type="int"),
        checksum=dict(type="str", choices=["none", "csum", "remcsum"]),
    )
    destinations = dict(
        address=dict(type="str", required=True),
        port=dict(type="int"),
        forward=dict(type="str", choices=["masquerade", "direct", "tunnel"]),
        weight=dict(type="int"),
        upper_threshold=dict(type="int"),
        lower_threshold=dict(type="int"),
        tunnel=dict(type="dict", options=tunnel),
    )
    return dict(
        protocol=dict(type="str", choices=["tcp", "udp", "sctp"]),
        address=dict(type="str"),
        port=dict(type="int"),
        fwmark=dict(type="str"),
        family=dict(type="str", choices=["ipv4", "ipv6"]),
        scheduler=dict(type="str"),
        scheduler_flags=dict(type="list", elements="str"),
        persistence=dict(type="dict", options=persistence),
        one_packet=dict(type="bool"),
        destinations=dict(type="list", elements="dict", options=destinations),
    )


def main() -> None:
    scope = dict(
        all=dict(type="bool"),
        addresses=dict(type="list", elements="str"),
        fwmarks=dict(type="list", elements="str"),
        protocols=dict(type="list", elements="str", choices=["tcp", "udp", "sctp"]),
        families=dict(type="list", elements="str", choices=["ipv4", "ipv6"]),
    )
    drain = dict(
        connections=dict(type="str", choices=["none", "active", "all"], default="active"),
        timeout=dict(type="float", default=60),
        interval=dict(type="float", default=1),
        at_timeout=dict(type="str", choices=["remove", "keep"], default="remove"),
        udp=dict(type="bool", default=False),
    )
    module = AnsibleModule(
        argument_spec=dict(
            config=dict(type="list", elements="dict", options=_config_spec()),
            state=dict(type="str", choices=list(services.STATES), default="merged"),
            scope=dict(type="dict", options=scope),
            drain=dict(type="dict", options=drain),
            running_config=dict(type="str"),
            resolve_names=dict(type="bool", default=False),
            hz=dict(type="int"),
            load_modules=dict(type="bool", default=True),
            netns=dict(type="str"),
        ),
        required_if=[
            ("state", "rendered", ["config"]),
            ("state", "parsed", ["running_config"]),
            ("state", "overridden", ["scope"]),
        ],
        supports_check_mode=True,
    )
    params = module.params
    state = params["state"]

    def job() -> dict:
        if state == services.RENDERED:
            return services.render(params["config"])
        if state == services.PARSED:
            return services.parse(params["running_config"], params["resolve_names"], params["hz"])
        if state == services.GATHERED:
            _module.require_pyroute2(module)
            return dict(services.gather(params["netns"]), netns=params["netns"])
        goal = services.goal_of(params)
        _module.require_pyroute2(module)
        result = services.reconcile(goal, params["netns"], module.check_mode, params["load_modules"], module._diff)
        for text in result.pop("warnings"):
            module.warn(text)
        return dict(result, netns=params["netns"])

    _module.run(module, job)


if __name__ == "__main__":
    main()
