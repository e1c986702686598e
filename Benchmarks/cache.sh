#!/usr/bin/env bash
# Prints the cache's figures, in a directory on a disk file system: BENCH_DIRECTORY, else /var/tmp. The instance is
# activated by a gateway, and loads the page from nginx once.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work_on_disk
build CacheTable sallyport
make_certificate
start_web
start_gateway
allow_web
write_setting
"$bin/CacheTable" "$SALLYPORT_BENCH_SETTING"
