/* An NVMe controller made of files, for a program that is started with this in LD_PRELOAD.

   The program opens NVME_SHIM_DEVICE, a path that need not exist. In NVME_SHIM_DIRECTORY are the
   controller's answers: identify-CNS to Identify and log-LID to Get Log Page, numbers decimal.
   Where there is no such file the command is refused. Nothing else of the program is changed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GET_LOG_PAGE = 0x02, IDENTIFY = 0x06, INVALID_FIELD = 0x4002 };

static int controller = -1;

static int open_real(const char *path, int flags, mode_t mode) {
    int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    const char *device = getenv("NVME_SHIM_DEVICE");
    if (device == NULL || strcmp(path, device) != 0) return next(path, flags, mode);
    return controller = next("/dev/null", O_RDWR | O_CLOEXEC, 0);
}

/* Which of these a program calls depends on how it was built. */
#define SHIMMED(name)                                     \
    int name(const char *path, int flags, ...) {          \
        va_list rest;                                     \
        va_start(rest, flags);                            \
        mode_t mode = (mode_t)va_arg(rest, int);          \
        va_end(rest);                                     \
        return open_real(path, flags, mode);              \
    }
SHIMMED(open)
SHIMMED(open64)
int __open_2(const char *path, int flags) { return open_real(path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_real(path, flags, 0); }

static int answer(struct nvme_admin_cmd *command) {
    const char *directory = getenv("NVME_SHIM_DIRECTORY");
    const char *kind = command->opcode == IDENTIFY ? "identify" : "log";
    char path[4096];
    if (directory == NULL || (command->opcode != IDENTIFY && command->opcode != GET_LOG_PAGE))
        return INVALID_FIELD;
    snprintf(path, sizeof path, "%s/%s-%u", directory, kind, command->cdw10 & 0xff);
    int file = open_real(path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return INVALID_FIELD;
    void *buffer = (void *)(uintptr_t)command->addr;
    off_t offset = command->opcode == GET_LOG_PAGE ? command->cdw12 : 0;
    memset(buffer, 0, command->data_len);
    ssize_t size = pread(file, buffer, command->data_len, offset);
    close(file);
    command->result = 0;
    return size < 0 ? INVALID_FIELD : 0;
}

int ioctl(int descriptor, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (descriptor < 0 || descriptor != controller) {
        int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
        return next(descriptor, request, argument);
    }
    if (request == (unsigned)NVME_IOCTL_ID) return 1;
    if (request == NVME_IOCTL_ADMIN_CMD) return answer(argument);
    errno = ENOTTY;
    return -1;
}
