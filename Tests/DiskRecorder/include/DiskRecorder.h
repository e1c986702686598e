#pragma once

#include "CrashReport.h"

/// Linked into a program, writes down every call by which it and its libraries change files below a directory.
///
/// SALLYPORT_RECORD names the file to write to, SALLYPORT_RECORD_ROOT the directory. SALLYPORT_RECORD_FAULT breaks
/// something on purpose: `nosync` opens LMDB with MDB_NOSYNC, `keysync` leaves out the syncs of files whose name begins
/// with `key`.
///
/// An entry: kind(1) flags(1) number(4) offset(8) length(4), then as many octets; little-endian. What is written to
/// standard output is an entry too, so that it stands where it was said.
void disk_recorder_start(void);
