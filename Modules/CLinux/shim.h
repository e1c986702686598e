#pragma once

// What Swift's Glibc module leaves out.

#include <malloc.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

int pthread_setname_np(pthread_t thread, const char *name);
