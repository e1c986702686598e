#pragma once

/// When a signal ends this process, prints where the signal was raised, as a line in the place of an outcome: `ended in
/// LMDB`, which trusts the pages that it walks, or `ended in Sallyport by signal N`, whose checks should have prevented
/// it. The exit status is then 70.
void crash_report_start(void);
