#pragma once

// What the Glibc module leaves out.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

int pthread_setname_np(pthread_t thread, const char *name);
