# SPDX-FileCopyrightText: netstate maintainers
# SPDX-License-Identifier: GPL-3.0-or-later

# Ansible refuses to start in another encoding, and ignores the ansible.cfg of a world-writable folder unless it is named.
export LC_ALL := C.UTF-8
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export PATH := $(CURDIR)/.venv/bin:$(PATH):/usr/sbin:/sbin

# Further arguments for pytest, such as ARGS="-k zone -x".
ARGS ?=
export ARGS

.DEFAULT_GOAL := help
.PHONY: help env demo audit test test-unit test-integration test-pyroute2 test-sanity test-ipvs test-kernels molecule lint bench bench-ipvs bench-audit clean

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*  ## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

env:  ## .venv with the newest ansible-core that a Python of this machine runs, pyroute2 and pytest
	@tools/env test

demo: env  ## counts, flushes and flushes again zones of connections on this machine's kernel, in a namespace
	@ANSIBLE_CALLBACK_RESULT_FORMAT=yaml .venv/bin/ansible-playbook playbooks/demo.yml
	@$(MAKE) --no-print-directory audit

# The hosts to audit: an inventory file, or names followed by a comma.
INVENTORY ?= localhost,
comma := ,
audit: env  ## what the hosts of INVENTORY=… (default: this machine) can do, and which are in trouble; writes a report
	@.venv/bin/ansible-playbook playbooks/audit.yml -i '$(INVENTORY)' $(if $(filter localhost$(comma),$(INVENTORY)),--connection local) $(ARGS)

test: env  ## all tests; the last line counts them
	@tools/test unit integration pyroute2-ends sanity molecule kernels-quick ipvs-quick

test-unit: env  ## tests that need neither root nor a kernel
	@tools/test unit

test-integration: env  ## the modules on this machine's kernel, in namespaces of their own; needs root
	@tools/test integration

test-pyroute2: env  ## the netlink code with every supported pyroute2 (tools/pyroute2-rows)
	@tools/test pyroute2

test-ipvs: env  ## IPVS and the playbook for it on guests with four kernels (tests/kernels); needs root
	@tools/test ipvs ipvs-role

test-sanity: env  ## ansible-test sanity
	@tools/test sanity

test-kernels: env  ## the modules on every kernel of the lab, from 5.10 to 7.3; writes docs/kernels.md; needs root
	@tools/test kernels

molecule: env  ## all molecule scenarios, on namespaces and on guests of the lab; needs root
	@tools/test molecule-all

lint:  ## ansible-lint, ruff, shellcheck, changelog, documentation, licences, the built collection
	@tools/env lint
	@tools/lint

bench: env  ## measures against the conntrack command
	@.venv/bin/python tests/benchmarks/run.py

bench-ipvs: env  ## measures against ipvsadm, in a guest of the lab; writes docs/benchmarks-ipvs.md; needs root
	@.venv/bin/python tests/benchmarks/ipvs.py

bench-audit: env  ## measures an audit of 200 hosts against setup, and the report of thousands; some 20 minutes
	@.venv/bin/python tests/benchmarks/audit.py

clean:  ## removes all that these targets made
	rm -rf .venv .cache .ansible .pytest_cache .hypothesis .ruff_cache .mypy_cache tests/output netstate-kernel-*.tar.gz
	find plugins tests -name __pycache__ -type d -prune -exec rm -rf {} +
