// Interposes the C library's file calls: a symbol of the program comes before those of its libraries.
#define _GNU_SOURCE
#include "DiskRecorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPENED = 1, WROTE, TRUNCATED, SYNCED, SYNCED_DIRECTORY, RENAMED, UNLINKED, MADE_DIRECTORY, REMOVED_DIRECTORY, SAID, LINKED };
enum { TRUNCATING = 1, DURABLE = 1, DESCRIPTORS = 4096, PATHS = 2048 };

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
// Set last: other threads of the process call these functions while it starts.
static _Atomic int output = -1;
static char root[PATHS];
static const char *fault = "";
static uint32_t opened;
// What a descriptor is: 0 nothing of ours, else the number of its opening.
static uint32_t numbers[DESCRIPTORS];
static uint8_t isDurable[DESCRIPTORS], isDirectory[DESCRIPTORS], isKey[DESCRIPTORS];
static char directories[DESCRIPTORS][256];

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

static void put(enum kind kind, int flags, uint32_t number, uint64_t offset, const void *octets, uint32_t length) {
    uint8_t head[18];
    head[0] = (uint8_t)kind;
    head[1] = (uint8_t)flags;
    memcpy(head + 2, &number, 4);
    memcpy(head + 6, &offset, 8);
    memcpy(head + 14, &length, 4);
    struct iovec parts[2] = {{head, sizeof head}, {(void *)octets, length}};
    if (REAL(writev)(output, parts, 2) != (ssize_t)(sizeof head + length)) abort();
}

static void putPath(enum kind kind, const char *path) { put(kind, 0, 0, 0, path, (uint32_t)strlen(path)); }

static int isOurs(const char *path) { return output >= 0 && root[0] && strncmp(path, root, strlen(root)) == 0; }

static int isRecorded(int fd) { return output >= 0 && fd >= 0 && fd < DESCRIPTORS && numbers[fd]; }

void disk_recorder_start(void) {
    const char *path = getenv("SALLYPORT_RECORD"), *directory = getenv("SALLYPORT_RECORD_ROOT");
    if (!path || !directory) return;
    if (getenv("SALLYPORT_RECORD_FAULT")) fault = getenv("SALLYPORT_RECORD_FAULT");
    snprintf(root, sizeof root, "%s", directory);
    int file = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) abort();
    output = file;
}

static int opening(const char *path, int flags, mode_t mode) {
    if (!isOurs(path)) return REAL(open)(path, flags, mode);
    pthread_mutex_lock(&mutex);
    int fd = REAL(open)(path, flags, mode);
    struct stat info;
    if (fd >= 0 && fd < DESCRIPTORS && fstat(fd, &info) == 0) {
        int error = errno;
        const char *name = strrchr(path, '/');
        numbers[fd] = ++opened;
        isDurable[fd] = (flags & O_DSYNC) != 0;
        isDirectory[fd] = S_ISDIR(info.st_mode);
        isKey[fd] = name && strncmp(name, "/key", 4) == 0;
        snprintf(directories[fd], sizeof directories[fd], "%s", path);
        if (!isDirectory[fd]) {
            put(OPENED, flags & O_TRUNC ? TRUNCATING : 0, numbers[fd], 0, path, (uint32_t)strlen(path));
        }
        errno = error;
    }
    pthread_mutex_unlock(&mutex);
    return fd;
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opening(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opening(path, flags, mode);
}

// Where nothing is recorded nothing waits either: a write to a socket may last as long as its peer likes.

int close(int fd) {
    if (output < 0) return REAL(close)(fd);
    pthread_mutex_lock(&mutex);
    if (fd >= 0 && fd < DESCRIPTORS) numbers[fd] = 0;
    int result = REAL(close)(fd);
    pthread_mutex_unlock(&mutex);
    return result;
}

ssize_t pwrite(int fd, const void *octets, size_t count, off_t offset) {
    if (output < 0) return REAL(pwrite)(fd, octets, count, offset);
    pthread_mutex_lock(&mutex);
    ssize_t result = REAL(pwrite)(fd, octets, count, offset);
    if (result > 0 && isRecorded(fd)) {
        put(WROTE, isDurable[fd] ? DURABLE : 0, numbers[fd], (uint64_t)offset, octets, (uint32_t)result);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

ssize_t write(int fd, const void *octets, size_t count) {
    if (output < 0) return REAL(write)(fd, octets, count);
    pthread_mutex_lock(&mutex);
    off_t offset = isRecorded(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t result = REAL(write)(fd, octets, count);
    if (result > 0 && isRecorded(fd)) {
        put(WROTE, isDurable[fd] ? DURABLE : 0, numbers[fd], (uint64_t)offset, octets, (uint32_t)result);
    } else if (result > 0 && fd == 1 && output >= 0) {
        put(SAID, 0, 0, 0, octets, (uint32_t)result);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (output < 0) return REAL(writev)(fd, parts, count);
    pthread_mutex_lock(&mutex);
    off_t offset = isRecorded(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t result = REAL(writev)(fd, parts, count);
    if (result > 0 && isRecorded(fd)) {
        ssize_t left = result;
        for (int index = 0; index < count && left > 0; index++) {
            size_t length = parts[index].iov_len < (size_t)left ? parts[index].iov_len : (size_t)left;
            put(WROTE, isDurable[fd] ? DURABLE : 0, numbers[fd], (uint64_t)offset, parts[index].iov_base, (uint32_t)length);
            offset += (off_t)length;
            left -= (ssize_t)length;
        }
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

int ftruncate(int fd, off_t length) {
    pthread_mutex_lock(&mutex);
    int result = REAL(ftruncate)(fd, length);
    if (result == 0 && isRecorded(fd)) put(TRUNCATED, 0, numbers[fd], (uint64_t)length, "", 0);
    pthread_mutex_unlock(&mutex);
    return result;
}

static int synced(int fd, int (*sync)(int)) {
    if (isRecorded(fd) && isKey[fd] && strcmp(fault, "keysync") == 0) return 0;
    pthread_mutex_lock(&mutex);
    int result = sync(fd);
    if (result == 0 && isRecorded(fd)) {
        if (isDirectory[fd]) {
            putPath(SYNCED_DIRECTORY, directories[fd]);
        } else {
            put(SYNCED, 0, numbers[fd], 0, "", 0);
        }
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }

int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

/// Calls `real` and notes both paths.
static int between(enum kind kind, int (*real)(const char *, const char *), const char *path, const char *other) {
    pthread_mutex_lock(&mutex);
    int result = real(path, other);
    if (result == 0 && isOurs(path)) {
        char both[2 * PATHS];
        int length = snprintf(both, sizeof both, "%s\n%s", path, other);
        put(kind, 0, 0, 0, both, (uint32_t)length);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

int rename(const char *path, const char *other) { return between(RENAMED, REAL(rename), path, other); }

int link(const char *path, const char *other) { return between(LINKED, REAL(link), path, other); }

static int named(enum kind kind, const char *path, int result) {
    if (result == 0 && isOurs(path)) putPath(kind, path);
    return result;
}

int unlink(const char *path) {
    pthread_mutex_lock(&mutex);
    int result = named(UNLINKED, path, REAL(unlink)(path));
    pthread_mutex_unlock(&mutex);
    return result;
}

int rmdir(const char *path) {
    pthread_mutex_lock(&mutex);
    int result = named(REMOVED_DIRECTORY, path, REAL(rmdir)(path));
    pthread_mutex_unlock(&mutex);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    pthread_mutex_lock(&mutex);
    int result = named(MADE_DIRECTORY, path, REAL(mkdir)(path, mode));
    pthread_mutex_unlock(&mutex);
    return result;
}

int mdb_env_open(MDB_env *environment, const char *path, unsigned int flags, mdb_mode_t mode) {
    if (strcmp(fault, "nosync") == 0) flags |= MDB_NOSYNC;
    return REAL(mdb_env_open)(environment, path, flags, mode);
}
