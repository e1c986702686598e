#pragma once

/// Lets a signal that ends this process say where it came from, as a line in the place of an outcome: `ended in LMDB`,
/// which trusts the pages that it walks, or `ended in Sallyport by signal N`, whose checks come before it reads. The exit
/// status is 70 then.
void crash_report_start(void);
