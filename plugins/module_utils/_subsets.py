# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The option ``gather_subset`` of the facts modules. Pure.

Private to this collection.
"""

from __future__ import annotations

import typing as t

from ._netlink.errors import OptionError


def parse(values: t.Sequence[str], subsets: t.Sequence[str], default: t.Collection[str]) -> frozenset[str]:
    """Reads the option as ``ansible.builtin.setup`` does.

    ``all`` is everything, ``min`` nothing beyond the keys that are always there, ``!x`` leaves x out; ``!all`` is ``min``. What is
    named for itself is given whatever is left out, so that ``!all, table`` is the table. With nothing but exclusions they are taken
    from the default.

    :param subsets: all that there are
    :raises OptionError: for a name that is none
    """
    wanted: set[str] = set()
    unwanted: set[str] = set()
    named: set[str] = set()
    for value in values:
        name = value.strip()
        negated = name.startswith("!")
        side = unwanted if negated else wanted
        name = name[negated:].strip()
        if name not in (*subsets, "all", "min"):
            choices = ", ".join(("all", "min", *subsets))
            raise OptionError("gather_subset", value, f"give names of {choices}, '!' in front to leave one out")
        side.update(subsets if name == "all" else () if name == "min" else (name,))
        if side is wanted and name in subsets:
            named.add(name)
    only_exclusions = not any(not value.strip().startswith("!") for value in values)
    return frozenset((set(default) if only_exclusions else wanted) - unwanted | named)
