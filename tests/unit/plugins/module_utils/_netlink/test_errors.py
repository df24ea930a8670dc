# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno

import pytest
from ansible_collections.netstate.kernel.plugins.module_utils._netlink.errors import (
    NO_NAMESPACE,
    UNREADABLE,
    NetstateError,
    OptionError,
    Reason,
)

WHY = Reason("why", "because of this: do that")


@pytest.mark.parametrize(
    "number, reason, code, slug, text",
    [
        (
            errno.EPERM,
            None,
            "EPERM",
            "not_permitted",
            "a dump failed: EPERM (Operation not permitted). CAP_NET_ADMIN is missing in the user namespace that owns this network"
            " namespace: run as root (become: true)",
        ),
        (
            errno.EACCES,
            None,
            "EACCES",
            "not_permitted",
            "a dump failed: EACCES (Permission denied). CAP_NET_ADMIN is missing in the user namespace that owns this network"
            " namespace: run as root (become: true)",
        ),
        # Python's own table calls 95 ENOTSUP, which no kernel documentation does.
        (errno.EOPNOTSUPP, None, "EOPNOTSUPP", None, "a dump failed: EOPNOTSUPP (Operation not supported)"),
        (errno.EOPNOTSUPP, WHY, "EOPNOTSUPP", "why", "a dump failed: EOPNOTSUPP (Operation not supported). Because of this: do that"),
        (errno.EPROTONOSUPPORT, None, "EPROTONOSUPPORT", "not_built", None),
        (errno.EBUSY, None, "EBUSY", "busy", None),
        (errno.ENOBUFS, None, "ENOBUFS", "overrun", None),
        (errno.ETIMEDOUT, None, "ETIMEDOUT", "no_answer", None),
        (errno.ENOENT, None, "ENOENT", None, "a dump failed: ENOENT (No such file or directory)"),
        (errno.ENOENT, NO_NAMESPACE, "ENOENT", "no_namespace", None),
        (4095, None, "4095", None, None),
        (None, UNREADABLE, None, "unreadable", "a dump failed. The table could not be read whole; nothing was done with a part of it"),
        (None, None, None, None, "a dump failed"),
    ],
)
def test_a_failure_tells_what_the_kernel_said_and_why(
    number: int | None, reason: Reason | None, code: str | None, slug: str | None, text: str | None
) -> None:
    error = NetstateError("a dump", number, reason, {"deleted": 3})
    result = error.as_result()
    assert result == {"msg": str(error), "asked": "a dump", "errno": code, "reason": slug, "deleted": 3}
    if text is not None:
        assert str(error) == text


def test_what_was_done_never_hides_what_failed() -> None:
    error = NetstateError("a dump", errno.EPERM, None, {"msg": "all is well", "reason": None, "changed": True})
    assert error.as_result()["msg"].startswith("a dump failed: EPERM")
    assert error.as_result()["reason"] == "not_permitted"
    assert error.as_result()["changed"] is True


@pytest.mark.parametrize(
    "value, text",
    [("foo", "exclude.zones: 'foo': no"), ([], "exclude.zones: []: no"), (5, "exclude.zones: 5: no"), (None, "exclude.zones: None: no")],
)
def test_a_refused_option_names_itself_and_its_value(value: object, text: str) -> None:
    error = OptionError("exclude.zones", value, "no")
    assert (error.option, str(error)) == ("exclude.zones", text)
