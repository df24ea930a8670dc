# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Running a job inside a network namespace, without moving the process and without creating anything.

``setns(2)`` and ``unshare(2)`` act on the calling thread alone, so a job runs in a thread of its own: whatever
happens, the module's own thread stays where it was. pyroute2's helpers are not used since they create
a namespace that is missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import threading
import typing as t

from .errors import NO_NAMESPACE, NOT_A_NAMESPACE, NetstateError, OptionError, Reason
from .text import printable

if t.TYPE_CHECKING:
    T = t.TypeVar("T")

CLONE_NEWNET = 0x40000000
DIRECTORY = "/run/netns"

NO_SYS_ADMIN = Reason(
    "not_permitted",
    "entering a network namespace needs CAP_SYS_ADMIN, and CAP_SYS_PTRACE for that of a process: run as root (become: true)",
)


def path_of(netns: str) -> str:
    """The file that stands for a namespace.

    :param netns: a name under ``/run/netns`` or an absolute path
    :raises OptionError: for what can be neither
    """
    if netns.startswith("/") and "\0" not in netns:
        return netns
    if not netns or "/" in netns or netns in (".", "..") or "\0" in netns:
        raise OptionError("netns", netns, f"give a name under {DIRECTORY}, or an absolute path")
    return os.path.join(DIRECTORY, netns)


def run(netns: str | None, job: t.Callable[[], T]) -> T:
    """Runs ``job`` in the namespace and returns what it returns; exceptions come through.

    :param netns: as in :func:`path_of`; ``None`` is the namespace of the caller
    :raises NetstateError: ``no_namespace``, ``not_a_namespace`` or ``not_permitted``, before ``job`` was called
    """
    if netns is None:
        return job()
    asked = f"entering the network namespace {printable(netns)}"
    path = path_of(netns)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise NetstateError(asked, error.errno, _absent(netns)) from None
        raise NetstateError(asked, error.errno, NO_SYS_ADMIN if error.errno == errno.EACCES else None) from None
    try:
        # A name made by `ip netns add` whose mount is gone is an empty regular file: setns answers EINVAL.
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise NetstateError(asked, errno.EISDIR, NOT_A_NAMESPACE)
        return _in_thread(lambda: _setns(handle, asked), job)
    finally:
        os.close(handle)


def run_in_new(job: t.Callable[[], T]) -> T:
    """Runs ``job`` in a new, empty network namespace that is gone when the job and its sockets are.

    :raises NetstateError: ``not_permitted`` without CAP_SYS_ADMIN
    """
    return _in_thread(_unshare, job)


def names() -> list[str]:
    """The named namespaces of this machine, sorted, as they are opened by; none if there is no such directory. Returned, they go through ``printable``."""
    try:
        return sorted(os.listdir(DIRECTORY))
    except OSError:
        return []


def own_proc() -> str:
    """The /proc folder of the calling thread, whose ``net`` shows the namespace that the thread is in."""
    return f"/proc/self/task/{threading.get_native_id()}"


def _absent(netns: str) -> Reason:
    known = names() if not netns.startswith("/") else []
    if not known:
        return NO_NAMESPACE
    shown = ", ".join(printable(name) for name in known[:8]) + (", …" if len(known) > 8 else "")
    return Reason(NO_NAMESPACE.slug, f"{NO_NAMESPACE.text}. There are: {shown}")


def _setns(handle: int, asked: str) -> None:
    if _libc().setns(handle, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        reasons = {errno.EPERM: NO_SYS_ADMIN, errno.EINVAL: NOT_A_NAMESPACE}
        raise NetstateError(asked, number, reasons.get(number))


def _unshare() -> None:
    if _libc().unshare(CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        reason = NO_SYS_ADMIN if number == errno.EPERM else None
        raise NetstateError("making a throw-away network namespace", number, reason)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _in_thread(enter: t.Callable[[], None], job: t.Callable[[], T]) -> T:
    outcome: dict[str, t.Any] = {}

    def body() -> None:
        try:
            enter()
            outcome["value"] = job()
        except BaseException as error:  # raised again in the caller's thread
            outcome["error"] = error

    thread = threading.Thread(target=body, name="netns", daemon=True)
    thread.start()
    thread.join()
    if "error" in outcome:
        with contextlib.ExitStack() as stack:
            stack.callback(outcome.clear)  # no reference cycle through the traceback
            raise outcome["error"]
    return outcome["value"]
