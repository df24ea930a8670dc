# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: netstate maintainers
"""Command lines of ssh."""

import subprocess

import pytest
from kernel_lab import command, ssh
from kernel_lab.state import Guest

GUEST = Guest("uml-6.1", 1, 1, "198.18.1.2", 22, "/venv/bin/python", "6.1.176")


@pytest.mark.parametrize(
    "remote, line",
    [
        (["uname -r; id"], "uname -r; id"),
        (["echo", "a b", "$HOME"], "echo 'a b' '$HOME'"),
        (["true"], "true"),
        (["-V"], "-V"),
    ],
)
def test_one_word_is_a_shell_line_and_more_are_quoted(where, remote, line):
    assert ssh.words(where, GUEST, remote)[-3:] == ["root@198.18.1.2", "--", line]


def test_nothing_of_the_users_configuration_is_used(where):
    options = ssh.options(where)
    assert options[:2] == ["-F", "/dev/null"]
    assert f"UserKnownHostsFile={where.known_hosts}" in options
    assert "StrictHostKeyChecking=no" in options


def test_the_connection_is_made_in_the_labs_namespace(where):
    (proxy,) = [option for option in ssh.options(where) if option.startswith("ProxyCommand=")]
    assert proxy.endswith(f"connect.py {where.namespace} %h %p")
    assert "ProxyUseFdpass=yes" in ssh.options(where)


def test_ssh_is_found_whatever_the_users_path_is(where, monkeypatch):
    paths = []
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(subprocess, "run", lambda words, env, **_options: paths.append(env["PATH"]) or subprocess.CompletedProcess(words, 0))
    assert ssh.answers(where, GUEST)
    assert paths == [command.PATH]
