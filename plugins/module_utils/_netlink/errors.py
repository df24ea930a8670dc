# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one exception that leaves ``module_utils``: what was asked, what the kernel said, why, what now."""

from __future__ import annotations

import errno
import os
import typing as t


class Reason(t.NamedTuple):
    """The likely cause of a refusal in the reader's terms.

    ``slug`` is stable and meant for ``when:`` and ``failed_when:``; ``text`` says what to do next.
    """

    slug: str
    text: str

    def after(self, observation: str) -> Reason:
        """The same, with what was observed in front."""
        return Reason(self.slug, f"{observation}. {_sentence(self.text)}")


NOT_PERMITTED = Reason(
    "not_permitted",
    "CAP_NET_ADMIN is missing in the user namespace that owns this network namespace: run as root (become: true)",
)
NOT_BUILT = Reason("not_built", "this kernel was built without it")
NOT_LOADED = Reason("not_loaded", "its kernel module is not loaded")
NO_ZONES = Reason(
    "no_zones",
    "this kernel was built without CONFIG_NF_CONNTRACK_ZONES: select without zones",
)
NO_NAMESPACE = Reason("no_namespace", "it is never created here: make it first, or correct the name")
NOT_A_NAMESPACE = Reason("not_a_namespace", "the file is there, but is no network namespace")
NO_ANSWER = Reason("no_answer", "the kernel did not answer in time, so the outcome of this request is not known")
UNREADABLE = Reason("unreadable", "the table could not be read whole; nothing was done with a part of it")
OVERRUN = Reason("overrun", "answers were lost for a full receive buffer, so the outcome of this batch is not known")
BUSY = Reason("busy", "the kernel holds on to it (an entry offloaded to hardware on a kernel before 6.4, for one)")
UNPROVEN = Reason("unproven", "Method auto or entries does it safely, entry by entry")
TOO_MANY = Reason("too_many", "nothing was deleted: narrow the selection, or raise max_entries")

# What an errno means wherever nothing more special is known of the request.
USUAL: t.Mapping[int, Reason] = {
    errno.EPERM: NOT_PERMITTED,
    errno.EACCES: NOT_PERMITTED,
    errno.EPROTONOSUPPORT: NOT_BUILT,
    errno.EBUSY: BUSY,
    errno.ENOBUFS: OVERRUN,
    errno.ETIMEDOUT: NO_ANSWER,
}

# Where one number has two names, Python's choice differs between releases; these are the kernel's.
_KERNEL_NAMES = {errno.EOPNOTSUPP: "EOPNOTSUPP", errno.EAGAIN: "EAGAIN", errno.EDEADLK: "EDEADLK"}


def name_of(number: int) -> str:
    """The kernel's name of an errno."""
    return _KERNEL_NAMES.get(number) or errno.errorcode.get(number, str(number))


class NetstateError(Exception):
    """A job that could not be done.

    :ivar asked: what was being asked of the kernel, a noun phrase (``"dump of the conntrack table"``)
    :ivar code: errno name (``"EPERM"``), or ``None`` where no kernel answer was involved
    :ivar reason: the likely cause
    :ivar done: result keys that tell what had been done before the failure
    """

    def __init__(
        self,
        asked: str,
        number: int | None = None,
        reason: Reason | None = None,
        done: t.Mapping[str, t.Any] | None = None,
    ) -> None:
        self.asked = asked
        self.number = number
        self.code = None if number is None else name_of(number)
        self.reason = reason or USUAL.get(number or 0)
        self.done = dict(done or {})
        super().__init__(str(self))

    def __str__(self) -> str:
        answer = ""
        if self.number is not None:
            answer = f": {self.code} ({os.strerror(self.number)})"
        why = ". " + _sentence(self.reason.text) if self.reason else ""
        return f"{self.asked} failed{answer}{why}"

    def as_result(self) -> dict[str, t.Any]:
        """The keys for ``fail_json``: ``msg``, ``asked``, ``errno``, ``reason`` and what was already done."""
        result = dict(self.done)
        result.update(
            msg=str(self),
            asked=self.asked,
            errno=self.code,
            reason=self.reason.slug if self.reason else None,
        )
        return result


_SHOWN = 200  # characters of a value


class OptionError(ValueError):
    """A value that an option cannot take, found before anything was opened.

    :ivar option: the option's name, as the user wrote it (``"exclude.zones"``)
    """

    def __init__(self, option: str, value: object, why: str) -> None:
        self.option = option
        super().__init__(f"{option}: {_shown(value)}: {why}")


def _shown(value: object) -> str:
    text = f"'{value}'" if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
