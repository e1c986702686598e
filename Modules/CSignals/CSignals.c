#include "CSignals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { count = sizeof signals / sizeof signals[0] };

/// In place of a child: none has started yet, or it has ended.
enum { awaited = 0, ended = -1 };

static _Atomic pid_t receiver = ended;
/// A bit for each signal that came before the child had started.
static atomic_uint kept = 0;

/// Sends what was kept. Of several calls at a time one sends it.
static void send_kept(pid_t child) {
    unsigned bits = atomic_exchange(&kept, 0);
    for (int index = 0; index < count; index++) {
        if (bits & 1u << signals[index]) kill(child, signals[index]);
    }
}

/// A signal's handler: on any thread, between any two instructions of it. Only atomics and kill(2) are allowed here.
static void handle(int signal, siginfo_t *info, void *context) {
    (void)context;
    int error = errno;
    pid_t child = atomic_load(&receiver);
    if (child > 0) {
        // The kernel sends these two for a terminal's keys only; signals of kill(2) have another code.
        int is_terminals = info->si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
        if (!is_terminals) kill(child, signal);
    } else if (child == awaited) {
        atomic_fetch_or(&kept, 1u << signal);
        // The child may have been made known after the look above, and what was kept was sent without this signal.
        child = atomic_load(&receiver);
        if (child > 0) send_kept(child);
    }
    errno = error;
}

void sallyport_trap_signals(void) {
    atomic_store(&kept, 0);
    atomic_store(&receiver, awaited);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < count; index++) {
        struct sigaction earlier;
        sigaction(signals[index], &action, &earlier);
        // Ignored since the start, as by nohup: for the child too.
        if (earlier.sa_handler == SIG_IGN) sigaction(signals[index], &earlier, NULL);
    }
}

void sallyport_pass_signals(pid_t child) {
    atomic_store(&receiver, child);
    send_kept(child);
}

void sallyport_await_end(pid_t child) {
    siginfo_t end;
    while (waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    atomic_store(&receiver, ended);
}
