# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The text of ``ipvsadm -S`` and ``-Sn``, of the files that people keep, and of ``/proc/net/ip_vs``. Pure.

Only what describes a table is read: ``-A`` and ``-a``. A word that is not understood is refused, with its line; to leave it out would
give a service that nobody asked for. Seen with ipvsadm 1.31: it prints ``-p`` with 360 where no value was given, negative fwmarks for those from
2147483648 on (and does not read them back), leaves thresholds out of ``-S`` and yet reads ``-x`` and ``-y``, gives what ``-g`` and ``-i`` lead to the port
of the service, whatever it was told, and stops a restore at a comment.
"""

from __future__ import annotations

import re
import typing as t

from .._netlink.errors import OptionError
from . import config, model, proc
from .model import Destination, DestinationKey, Held, Key, Service, Table
from .wording import RulesError

LOSSLESS, IPVSADM = "lossless", "ipvsadm"
DIALECTS = (LOSSLESS, IPVSADM)

# What ipvsadm 1.31 reads: thresholds are limited to 16 bits.
_IPVSADM_THRESHOLD = 0xFFFF

ADD_SERVICE, ADD_SERVER = "-A", "-a"
_COMMANDS = {"-A": ADD_SERVICE, "--add-service": ADD_SERVICE, "-a": ADD_SERVER, "--add-server": ADD_SERVER}
_OTHER_COMMANDS = frozenset(
    ["-C", "-D", "-E", "-L", "-R", "-S", "-Z", "-d", "-e", "-l", "--clear", "--delete-service", "--edit-service", "--list", "--restore"]
    + ["--save", "--zero", "--delete-server", "--edit-server", "--set", "--start-daemon", "--stop-daemon"]
)

_LONG = {
    "--tcp-service": "-t",
    "--udp-service": "-u",
    "--fwmark-service": "-f",
    "--scheduler": "-s",
    "--persistent": "-p",
    "--netmask": "-M",
    "--sched-flags": "-b",
    "--real-server": "-r",
    "--gatewaying": "-g",
    "--ipip": "-i",
    "--masquerading": "-m",
    "--weight": "-w",
    "--u-threshold": "-x",
    "--l-threshold": "-y",
    "--ipv6": "-6",
    "--ops": "-o",
    "--numeric": "-n",
}
_PROTOCOL_WORDS = {"-t": "tcp", "-u": "udp", "--sctp-service": "sctp"}
_PROTOCOL_OPTIONS = {name: word for word, name in _PROTOCOL_WORDS.items()}
_FORWARD_WORDS = {"-m": model.MASQUERADE, "-i": model.TUNNEL, "-g": model.DIRECT}
_FORWARD_OPTIONS = {number: word for word, number in _FORWARD_WORDS.items()}
_CHECKSUM_WORDS = {"--tun-nocsum": "none", "--tun-csum": "csum", "--tun-remcsum": "remcsum"}

_CHECKSUM_OPTIONS = {name: word for word, name in _CHECKSUM_WORDS.items()}

_WITH_VALUE = frozenset(["-t", "-u", "--sctp-service", "-f", "-s", "-M", "--pe", "-b", "-r", "-w", "-x", "-y", "--tun-type", "--tun-port"])
_WITHOUT_VALUE = frozenset(["-6", "-o", "-n", *_FORWARD_WORDS, *_CHECKSUM_WORDS])
_OPTIONAL_VALUE = "-p"
_KNOWN = _WITH_VALUE | _WITHOUT_VALUE | {_OPTIONAL_VALUE}

_OF_BOTH = frozenset(["-t", "-u", "--sctp-service", "-f", "-6", "-n"])
_OF_SERVICE = _OF_BOTH | {"-s", "-p", "-M", "--pe", "-b", "-o"}
_OF_SERVER = _OF_BOTH | {"-r", "-w", "-x", "-y", "--tun-type", "--tun-port", *_FORWARD_WORDS, *_CHECKSUM_WORDS}

_PREFIX = re.compile(r"(/\S*/)?ipvsadm")
_PORT = re.compile(r"[0-9]+")
_NEGATIVE = re.compile(r"-[0-9]{1,20}")


class Names(t.NamedTuple):
    """How names of services and hosts are resolved; both raise ``OSError`` for a name that is unknown.

    :ivar port: of a service name and a protocol name
    :ivar address: of a host name, in text form
    """

    port: t.Callable[[str, str], int]
    address: t.Callable[[str], str]


def parse(text: str, names: Names | None = None, hz: int | None = None) -> list[dict[str, t.Any]]:
    """The table that a text describes, in the form of the option ``config``.

    :param names: without it, names of services and hosts are refused
    :param hz: ticks a second of the kernel that printed ``/proc/net/ip_vs``, which tells the time of persistence in ticks
    :raises RulesError: naming line and text
    :raises OptionError: for ``hz``
    """
    return config.as_config(parse_table(text, names, hz))


def parse_table(text: str, names: Names | None = None, hz: int | None = None) -> Table:
    """As :func:`parse`, as values."""
    lines = text.splitlines()
    if proc.is_listing(lines):
        return proc.parse(lines, hz)
    table: Table = {}
    for number, line in enumerate(lines, 1):
        try:
            _line(table, line, names)
        except (RulesError, OptionError) as error:
            raise RulesError(_plain(error), number, line) from None
    return table


def render(table: t.Mapping[Key, Held], dialect: str = LOSSLESS) -> str:
    """The text of a table, in the order and form of ``ipvsadm -Sn``, with thresholds.

    :param dialect: ``ipvsadm`` refuses what ipvsadm 1.31 would not read back
    :raises RulesError: for what cannot be said, naming the service
    """
    lines = []
    for key, held in model.sorted_table(table):
        lines.append(add_service(key, held.service, dialect))
        lines += [add_destination(key, *item, dialect=dialect) for item in sorted(held.destinations.items())]
    return "".join(line + "\n" for line in lines)


def add_service(key: Key, service: Service, dialect: str = LOSSLESS) -> str:
    """One line ``-A``."""
    return " ".join(["-A", *service_words(key, dialect), *setting_words(key, service, dialect)])


def add_destination(key: Key, destination: DestinationKey, one: Destination, dialect: str = LOSSLESS) -> str:
    """One line ``-a``."""
    words = ["-a", *service_words(key, dialect), "-r", str(destination)]
    return " ".join(words + destination_words(key, destination, one, dialect))


def service_words(key: Key, dialect: str = LOSSLESS) -> list[str]:
    """The words that identify a service."""
    if key.fwmark:
        return ["-f", str(key.fwmark)] + (["-6"] if key.family == model.AF_INET6 else [])
    name = model.protocol_name(key.protocol)
    if name not in _PROTOCOL_OPTIONS:
        if dialect == IPVSADM:
            raise RulesError(f"{key}: ipvsadm has no word for protocol {name}")
        return ["--protocol=" + name, model.endpoint(key.family, key.address, key.port)]
    return [_PROTOCOL_OPTIONS[name], model.endpoint(key.family, key.address, key.port)]


def setting_words(key: Key, service: Service, dialect: str = LOSSLESS) -> list[str]:
    """The words that say what can change of a service, in ipvsadm's order."""
    if dialect == IPVSADM:
        _check_service(key, service)
    words = ["-s", service.scheduler]
    if service.timeout:
        words += ["-p", str(service.timeout)]
        if service.netmask != model.WHOLE_ADDRESS[key.family]:
            words += ["-M", model.netmask_text(key.family, service.netmask)]
    words += ["--pe", service.engine] if service.engine else []
    words += ["-o"] if service.one_packet else []
    flags = model.flag_names(service.scheduler, service.flags)
    return words + (["-b", ",".join(flags)] if flags else [])


def destination_words(key: Key, destination: DestinationKey, one: Destination, dialect: str = LOSSLESS) -> list[str]:
    """The words that say what can change of a destination, in ipvsadm's order; thresholds follow where there are any."""
    if dialect == IPVSADM:
        _check_destination(key, destination, one)
    word = _FORWARD_OPTIONS.get(one.forward)
    if word is None:
        if dialect == IPVSADM:
            raise RulesError(f"{key}, destination {destination}: ipvsadm has no word for its forwarding method")
        word = "--forward=" + (model.FORWARDS[one.forward] if one.forward < len(model.FORWARDS) else str(one.forward))
    words = [word, "-w", str(one.weight)]
    if one.forward == model.TUNNEL:
        tunnel = config.tunnel_config(one.tunnel)
        words += ["--tun-type", tunnel["type"]]
        words += ["--tun-port", str(tunnel["port"])] if "port" in tunnel else []
        if one.tunnel.type != model.IPIP:  # ipvsadm has no such words for ipip
            words.append(_CHECKSUM_OPTIONS.get(tunnel["checksum"], "--tun-" + tunnel["checksum"]))
    words += ["-x", str(one.upper)] if one.upper else []
    return words + (["-y", str(one.lower)] if one.lower else [])


def _check_service(key: Key, service: Service) -> None:
    if service.one_packet and not key.fwmark and key.protocol != model.UDP:
        raise RulesError(f"{key}: ipvsadm takes -o for UDP and fwmark services only")
    if service.timeout > model.PERSISTENCE_MOST:
        raise RulesError(f"{key}: ipvsadm takes at most {model.PERSISTENCE_MOST} seconds of persistence")
    if not key.fwmark and not key.port and not service.timeout:
        raise RulesError(f"{key}: ipvsadm takes port 0 with persistence only")


def _check_destination(key: Key, destination: DestinationKey, one: Destination) -> None:
    if max(one.upper, one.lower) > _IPVSADM_THRESHOLD:
        raise RulesError(f"{key}, destination {destination}: ipvsadm takes thresholds up to {_IPVSADM_THRESHOLD}")
    if not key.fwmark and destination.port != key.port and one.forward in (model.DIRECT, model.TUNNEL):
        word = _FORWARD_OPTIONS[one.forward]
        raise RulesError(f"{key}, destination {destination}: with {word}, ipvsadm gives a destination the port of its service")


def _plain(error: Exception) -> str:
    """The text of an error of the option form, without the place that only that form has."""
    return re.sub(r"^rule(\.destinations\[0\])?\.?", "", str(error)).lstrip(": ")


def _line(table: Table, line: str, names: Names | None) -> None:
    words = line.split()
    for index, word in enumerate(words):
        if word.startswith("#"):
            del words[index:]
            break
    if words and _PREFIX.fullmatch(words[0]):
        del words[0]
    if not words:
        return
    command, options = _options(words)
    allowed = _OF_SERVICE if command == ADD_SERVICE else _OF_SERVER
    for word in options:
        if word not in allowed:
            raise RulesError(f"{word} does not go with {command}")
    rule = _rule(options, names)
    if command == ADD_SERVER:
        rule["destinations"] = [_destination(options, rule, names)]
    _add(table, command, config.parse([rule], "rule")[0])


def _add(table: Table, command: str, wanted: config.Wanted) -> None:
    held = table.get(wanted.key)
    if command == ADD_SERVICE:
        if held is not None:
            raise RulesError(f"service {wanted.key} was there before")
        table.update(config.table([wanted]))
        return
    if held is None:
        raise RulesError(f"service {wanted.key} was not added before")
    for key, one in (wanted.destinations or {}).items():
        if key in held.destinations:
            raise RulesError(f"destination {key} was there before")
        t.cast(dict, held.destinations)[key] = config.settle_destination(wanted.key, key, one, None)


def _options(words: list[str]) -> tuple[str, dict[str, str]]:
    """The command of a line, and its options in short form, if there is one, with their values."""
    command = ""
    options: dict[str, str] = {}
    rest = _separated(words)
    while rest:
        word = rest.pop(0)
        if word in _COMMANDS:
            if command:
                raise RulesError(f"a second command, {word}")
            command = _COMMANDS[word]
            continue
        if word in _OTHER_COMMANDS:
            raise RulesError(f"{word} describes no table: only -A and -a are read")
        word = _LONG.get(word, word)
        if word not in _KNOWN:
            raise RulesError(f"unknown word {word}")
        if word in options:
            raise RulesError(f"{word} is given twice")
        value = ""
        if word in _WITH_VALUE:
            if not rest:
                raise RulesError(f"{word} needs a value")
            value = rest.pop(0)
        elif word == _OPTIONAL_VALUE and rest and not rest[0].startswith("-"):
            value = rest.pop(0)
        options[word] = value
    if not command:
        raise RulesError("neither -A nor -a")
    return command, options


def _separated(words: t.Iterable[str]) -> list[str]:
    """Splits ``--option=value``, ``-w5`` and ``-At``, which ipvsadm takes as well."""
    separated: list[str] = []
    expects_value = False
    for word in words:
        if expects_value or not word.startswith("-") or len(word) < 3:
            parts = [word]
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            parts = [name, value] if equals else [name]
        else:
            parts = _cluster(word)
        separated += parts
        expects_value = not expects_value and _LONG.get(parts[-1], parts[-1]) in _WITH_VALUE
    return separated


def _cluster(word: str) -> list[str]:
    parts: list[str] = []
    for index, letter in enumerate(word[1:], 1):
        option = "-" + letter
        parts.append(option)
        rest = word[index + 1 :]
        if rest and (option in _WITH_VALUE or option == _OPTIONAL_VALUE):
            return parts + [rest]
    return parts


def _rule(options: t.Mapping[str, str], names: Names | None) -> dict[str, t.Any]:
    """One line as a service of the option form."""
    rule = _identity(options, names)
    if "-s" in options:
        rule["scheduler"] = options["-s"]
    if "-b" in options:
        rule["scheduler_flags"] = options["-b"].split(",")
    if "-o" in options:
        rule["one_packet"] = True
    persistence: dict[str, t.Any] = {}
    if "-p" in options:
        persistence["timeout"] = options["-p"] or model.PERSISTENCE_SECONDS
        if persistence["timeout"] == "0":
            raise RulesError(f"-p 0: persistence lasts from 1 to {model.PERSISTENCE_MOST} seconds")
    if "-M" in options:
        persistence["netmask"] = options["-M"]
    if "--pe" in options:
        persistence["engine"] = options["--pe"]
    if persistence:
        persistence.setdefault("timeout", 0)
        rule["persistence"] = persistence
    return rule


def _identity(options: t.Mapping[str, str], names: Names | None) -> dict[str, t.Any]:
    named = [word for word in ("-t", "-u", "--sctp-service", "-f") if word in options]
    if len(named) != 1:
        raise RulesError("give one of -t, -u, --sctp-service and -f, and no more")
    word = named[0]
    if word == "-f":
        mark = options["-f"]
        if _NEGATIVE.fullmatch(mark) and -0x80000000 <= int(mark) < 0:
            mark = str(int(mark) & 0xFFFFFFFF)
        return {"fwmark": mark, "family": "ipv6" if "-6" in options else "ipv4"}
    protocol = _PROTOCOL_WORDS[word]
    address, port = _endpoint(options[word], protocol, names)
    return {"protocol": protocol, "address": address, "port": 0 if port is None else port}


def _destination(options: t.Mapping[str, str], rule: t.Mapping[str, t.Any], names: Names | None) -> dict[str, t.Any]:
    if "-r" not in options:
        raise RulesError("-a needs -r")
    address, port = _endpoint(options["-r"], rule.get("protocol", "tcp"), names)
    destination: dict[str, t.Any] = {"address": address, "port": port}
    forwards = [word for word in _FORWARD_WORDS if word in options]
    if len(forwards) > 1:
        raise RulesError(f"{forwards[0]} and {forwards[1]} exclude each other")
    if forwards:
        destination["forward"] = model.FORWARDS[_FORWARD_WORDS[forwards[0]]]
    for word, option in (("-w", "weight"), ("-x", "upper_threshold"), ("-y", "lower_threshold")):
        if word in options:
            destination[option] = options[word]
    checksums = [word for word in _CHECKSUM_WORDS if word in options]
    if len(checksums) > 1:
        raise RulesError(f"{checksums[0]} and {checksums[1]} exclude each other")
    tunnel: dict[str, t.Any] = {"checksum": _CHECKSUM_WORDS[checksums[0]]} if checksums else {}
    for word, option in (("--tun-type", "type"), ("--tun-port", "port")):
        if word in options:
            tunnel[option] = options[word]
    if tunnel:
        destination["tunnel"] = tunnel
    return destination


def _endpoint(text: str, protocol: str, names: Names | None) -> tuple[str, int | None]:
    """Address and port of ``10.0.0.1``, ``10.0.0.1:80``, ``2001:db8::1``, ``[2001:db8::1]`` and ``[2001:db8::1]:80``."""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise RulesError(f"{text} is no address with a port")
        port = rest[1:] if rest else None
    elif text.count(":") > 1:
        host, port = text, None
    else:
        host, colon, after = text.partition(":")
        port = after if colon else None
    return _host(host, names), None if port is None else _port(port, protocol, names)


def _host(text: str, names: Names | None) -> str:
    try:
        model.packed(text)
    except ValueError:
        return _resolved("host", text, names and (lambda: names.address(text)))
    return text


def _port(text: str, protocol: str, names: Names | None) -> int:
    if not _PORT.fullmatch(text):
        return _resolved("port", text, names and (lambda: names.port(text, protocol)))
    if len(text) > 20 or int(text) > 0xFFFF:
        raise RulesError(f"port {text} is out of range")
    return int(text)


def _resolved(what: str, text: str, resolve: t.Callable[[], t.Any] | None) -> t.Any:
    if resolve is None:
        raise RulesError("{} {} is no number: save with ipvsadm -Sn, or ask for names to be resolved".format(what, text or "''"))
    try:
        return resolve()
    except (OSError, ValueError):  # ValueError for what can be no name: a NUL inside, a label too long
        raise RulesError(f"{what} {text} is not known here") from None
