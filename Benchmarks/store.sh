#!/usr/bin/env bash
# Prints the store's figures, in a directory on a disk file system: BENCH_DIRECTORY, else /var/tmp.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_on_disk
build StoreTable
export BENCH_FILE_SYSTEM; BENCH_FILE_SYSTEM=$(df --output=fstype "$work" | tail -1)
"$bin/StoreTable" "$work" "$@"
