#pragma once

// What Swift's Glibc module leaves out.

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>

int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *limit, const sigset_t *mask);
int pthread_setname_np(pthread_t thread, const char *name);
