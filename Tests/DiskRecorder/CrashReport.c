#define _GNU_SOURCE
#include "CrashReport.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { most_frames = 64 };

static const char *library(void *address) {
    Dl_info info;
    return dladdr(address, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "";
}

static int is_libc(const char *name) { return strstr(name, "/libc.so") != NULL || strstr(name, "/libc-") != NULL; }

/// The frames are the handler's own, that of the C library from which the kernel called it, and the interrupted ones.
static int began_in_lmdb(void) {
    void *frames[most_frames];
    int count = backtrace(frames, most_frames);
    int next = 0;
    while (next < count && !is_libc(library(frames[next]))) next++;
    while (next < count && is_libc(library(frames[next]))) next++;
    for (; next < count; next++) {
        const char *name = library(frames[next]);
        if (strstr(name, "/liblmdb") != NULL) return 1;
        if (strstr(name, "/StoreChild") != NULL) return 0;
    }
    return 0;
}

static void tell_origin(int number) {
    signal(number, SIG_DFL);
    char line[80];
    int length = began_in_lmdb()
        ? snprintf(line, sizeof line, "ended in LMDB\n")
        : snprintf(line, sizeof line, "ended in Sallyport by signal %d\n", number);
    if (write(STDOUT_FILENO, line, (size_t)length) != length) _exit(71);
    _exit(70);
}

void crash_report_start(void) {
    // The first call loads the unwinder, which a signal handler must not do.
    void *frames[4];
    (void)backtrace(frames, 4);
    const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE};
    for (size_t index = 0; index < sizeof numbers / sizeof *numbers; index++) signal(numbers[index], tell_origin);
}
