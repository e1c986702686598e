#!/usr/bin/env bash
# Prints the figures of cookies, in a directory on a disk file system: BENCH_DIRECTORY, else /var/tmp.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_on_disk
build CookieTable
"$bin/CookieTable" "$work"
