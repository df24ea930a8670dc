# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
"""IPVS: what a virtual service is, what the bytes and the text mean, what has to change, how it is changed.

Private to this collection.
"""
