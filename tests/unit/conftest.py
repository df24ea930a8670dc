# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hypothesis

# How long an example takes tells of the machine's load, not of the code; a report names what to repeat.
hypothesis.settings.register_profile("unit", deadline=None, print_blob=True)
hypothesis.settings.load_profile("unit")
