/* Makes one system call of SQLite fail; loaded with LD_PRELOAD.
 *
 * Only calls on files of the history count. fail_at(n, error) makes the n-th call from now on return
 * the error; the others reach the kernel. calls() returns their number since then. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int seen, fails_at, with_error;

void fail_at(int number, int error) { seen = 0; fails_at = number; with_error = error; }
int calls(void) { return seen; }

static int fails(const char *path) {
    if (strstr(path, "history.sqlite") == NULL || ++seen != fails_at) return 0;
    errno = with_error;
    return 1;
}

static int fd_fails(int fd) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return fails(path);
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
        return fails(path) ? -1 : real(path, flags, mode); }
OPEN(open) OPEN(open64)

#define ON_FD(type, name, declared, passed) \
    type name declared { REAL(name); return fd_fails(fd) ? -1 : real passed; }
ON_FD(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
ON_FD(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
ON_FD(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
ON_FD(ssize_t, pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
ON_FD(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
ON_FD(ssize_t, pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at))
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, ftruncate, (int fd, off_t n), (fd, n))
ON_FD(int, ftruncate64, (int fd, off64_t n), (fd, n))
ON_FD(int, fstat, (int fd, struct stat *to), (fd, to))
ON_FD(int, fstat64, (int fd, struct stat64 *to), (fd, to))
ON_FD(int, fchmod, (int fd, mode_t mode), (fd, mode))

int unlink(const char *path) { REAL(unlink); return fails(path) ? -1 : real(path); }

#define ON_PATH(name, kind) \
    int name(const char *path, struct kind *to) { REAL(name); return fails(path) ? -1 : real(path, to); }
ON_PATH(stat, stat) ON_PATH(stat64, stat64) ON_PATH(lstat, stat) ON_PATH(lstat64, stat64)

#define FCNTL(name) \
    int name(int fd, int command, ...) { \
        REAL(name); va_list more; va_start(more, command); void *argument = va_arg(more, void *); \
        va_end(more); \
        return command == F_SETLK && fd_fails(fd) ? -1 : real(fd, command, argument); }
FCNTL(fcntl) FCNTL(fcntl64)
