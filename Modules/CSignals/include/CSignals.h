#pragma once

#include <sys/types.h>

/// Traps SIGINT, SIGTERM, SIGHUP and SIGQUIT for a child process that is about to start: they are kept for it. One
/// child at a time.
void sallyport_trap_signals(void);

/// Sends the child what was kept, and from now on what comes. What a terminal sends to its foreground process group has
/// come to the child already, and is not sent again.
void sallyport_pass_signals(pid_t child);

/// Returns when the child has ended. Its number is not free for another process before it is waited for (waitpid); no
/// signal is sent to it any more. Those that come later are dropped, so that this process can end in order.
void sallyport_await_end(pid_t child);

/// Undoes the trapping, for a process that goes on after the child's end.
void sallyport_release_signals(void);
