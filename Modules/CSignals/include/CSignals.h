#pragma once

#include <sys/types.h>

/// Traps SIGINT, SIGTERM, SIGHUP and SIGQUIT for a child process that is about to start: they are kept for it. Those that
/// this process was started to ignore are left alone. One child at a time.
void sallyport_trap_signals(void);

/// Sends the child what was kept, and from now on what comes, but for what a terminal sends to its foreground process
/// group: that has come to the child already.
void sallyport_pass_signals(pid_t child);

/// Returns when the child has ended. Its number is not free for another process before it is waited for (waitpid); no
/// further signal is sent to it. Trapped signals that come later are dropped, so that this process can end in order.
void sallyport_await_end(pid_t child);
