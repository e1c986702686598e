#!/usr/bin/env bash
# Prints the cache's figures, in a directory on a disk file system: BENCH_DIRECTORY, else /var/tmp.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_on_disk
build CacheTable
"$bin/CacheTable" "$work"
