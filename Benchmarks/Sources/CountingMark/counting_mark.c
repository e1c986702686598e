#include "counting_mark.h"

// A call that the compiler can neither inline nor leave out.
__attribute__((noinline)) void sallyport_counting_begins(void) { __asm__ volatile(""); }
