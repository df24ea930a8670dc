# -*- coding: utf-8 -*-
# Copyright (c) netstate.kernel contributors
# GNU General Public License v3.0-or-later (see LICENSES/GPL-3.0-or-later.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Talking netlink: namespaces, sockets, messages, errors. Private to this collection."""
