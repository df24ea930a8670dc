# -*- coding: utf-8 -*-
# Copyright (c) netstate.kernel contributors
# GNU General Public License v3.0-or-later (see LICENSES/GPL-3.0-or-later.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection tracking: what the bytes mean, what a kernel can do, what is selected, how it is flushed.

Private to this collection.
"""
