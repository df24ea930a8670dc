# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Connection tracking: what the bytes mean, what a kernel can do, what is selected, how it is flushed.

Private to this collection.
"""
