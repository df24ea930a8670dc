# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the get-pip script that ansible-test would download: starts from the pip that Python brings along."""

from __future__ import annotations

import subprocess
import sys

# ansible-test gives "pip==VERSION" and options that only the real script knows.
arguments = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
# Own processes: ensurepip drops the settings of pip from the environment, and pip replaces itself.
subprocess.check_call([sys.executable, "-m", "ensurepip"])
subprocess.check_call([sys.executable, "-m", "pip", "install", *arguments])
