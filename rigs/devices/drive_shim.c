/* A drive made of files, for a program that is started with this in LD_PRELOAD.

   The program opens DRIVE_SHIM_DEVICE, a path that need not exist. In DRIVE_SHIM_DIRECTORY are the
   drive's answers. Where there is no such file the command is refused. Nothing else of the program
   is changed.

   NVMe, numbers decimal: identify-CNS to Identify, log-LID to Get Log Page. Each Get Log Page adds a
   line to commands: the opcode, dword 10 as page, flags and length, and dword 11, hexadecimal.

   SCSI, numbers hexadecimal: inquiry, vpd-PAGE, log-PAGE-SUBPAGE, mode-PAGE (to MODE SENSE(6)),
   capacity-10, capacity-16, defects, sense.

   ATA through SCSI (SAT), numbers hexadecimal: data-COMMAND-FEATURE-LOG is the data of a command,
   of a log from its first page on; registers-COMMAND-FEATURE contains error, count, LBA low, mid
   and high, device and status after a command without data. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECK_CONDITION = 2, ABORTED = 0x0b, ILLEGAL = 5, RECOVERED = 1 };
enum { GET_LOG_PAGE = 0x02, IDENTIFY = 0x06, INVALID_FIELD = 0x4002 };

static int drive = -1;

static int open_real(const char *path, int flags, mode_t mode) {
    int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    const char *device = getenv("DRIVE_SHIM_DEVICE");
    if (device == NULL || strcmp(path, device) != 0) return next(path, flags, mode);
    return drive = next("/dev/null", O_RDWR | O_CLOEXEC, 0);
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

/* Reads a file of the directory into a buffer. Returns its bytes; -1 if there is no such file. */
static ssize_t stored(const char *name, void *buffer, size_t size, off_t offset) {
    const char *directory = getenv("DRIVE_SHIM_DIRECTORY");
    char path[4096];
    if (directory == NULL) return -1;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open_real(path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return -1;
    memset(buffer, 0, size);
    ssize_t got = pread(file, buffer, size, offset);
    close(file);
    return got;
}

static void note(const struct nvme_admin_cmd *command) {
    char path[4096], line[64];
    const uint32_t word = command->cdw10;
    snprintf(path, sizeof path, "%s/commands", getenv("DRIVE_SHIM_DIRECTORY"));
    int size = snprintf(line, sizeof line, "%02x %08x|%04x|%08x %08x\n", command->opcode,
                        word & 0xff, word & 0xff00, word & 0xffff0000, command->cdw11);
    int file = open_real(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return;
    if (write(file, line, size) != size) abort();
    close(file);
}

static int nvme(struct nvme_admin_cmd *command) {
    int is_log = command->opcode == GET_LOG_PAGE;
    char name[64];
    if (command->opcode != IDENTIFY && !is_log) return INVALID_FIELD;
    if (is_log && getenv("DRIVE_SHIM_DIRECTORY") != NULL) note(command);
    snprintf(name, sizeof name, "%s-%u", is_log ? "log" : "identify", command->cdw10 & 0xff);
    void *buffer = (void *)(uintptr_t)command->addr;
    command->result = 0;
    off_t offset = is_log ? command->cdw12 : 0;
    return stored(name, buffer, command->data_len, offset) < 0 ? INVALID_FIELD : 0;
}

/* Sense data in the descriptor format (SPC). */
static void fail(sg_io_hdr_t *io, int key, int asc, const uint8_t registers[7]) {
    uint8_t sense[22] = {0x72, key, asc};
    size_t size = 8;
    if (registers != NULL) { /* the ATA Status Return descriptor (SAT) */
        size = sizeof sense;
        sense[3] = 0x1d, sense[7] = 14, sense[8] = 9, sense[9] = 12;
        sense[11] = registers[0], sense[13] = registers[1], sense[15] = registers[2];
        sense[17] = registers[3], sense[19] = registers[4], sense[20] = registers[5];
        sense[21] = registers[6];
    }
    if (size > io->mx_sb_len) size = io->mx_sb_len;
    memcpy(io->sbp, sense, size);
    io->sb_len_wr = size;
    io->status = CHECK_CONDITION;
    io->info |= SG_INFO_CHECK;
}

static void ata(sg_io_hdr_t *io, const uint8_t *cdb) {
    static const uint8_t aborted[7] = {4, 0, 0, 0, 0, 0, 0x51};
    int is_16 = cdb[0] == 0x85;
    int command = cdb[is_16 ? 14 : 9], feature = cdb[is_16 ? 4 : 3];
    int log = cdb[is_16 ? 8 : 5], page = cdb[is_16 ? 10 : 6];
    uint8_t registers[7];
    char name[64];
    if (io->dxfer_direction == SG_DXFER_FROM_DEV && io->dxfer_len > 0) {
        snprintf(name, sizeof name, "data-%02x-%02x-%02x", command, feature, log);
        off_t offset = command == 0x2f ? 512 * page : 0; /* READ LOG EXT */
        if (stored(name, io->dxferp, io->dxfer_len, offset) < 0) fail(io, ABORTED, 0, aborted);
        return;
    }
    snprintf(name, sizeof name, "registers-%02x-%02x", command, feature);
    if (stored(name, registers, sizeof registers, 0) < 0) fail(io, ABORTED, 0, aborted);
    else if (cdb[2] & 0x20) fail(io, RECOVERED, 0, registers);
}

static void scsi(sg_io_hdr_t *io) {
    const uint8_t *cdb = io->cmdp;
    char name[64] = "";
    io->status = io->host_status = io->driver_status = io->sb_len_wr = io->info = 0;
    io->resid = 0;
    switch (cdb[0]) {
    case 0x00: case 0x1b: return; /* TEST UNIT READY, START STOP UNIT */
    case 0x03: strcpy(name, "sense"); break;
    case 0x12:
        if (cdb[1] & 1) snprintf(name, sizeof name, "vpd-%02x", cdb[2]);
        else strcpy(name, "inquiry");
        break;
    case 0x25: strcpy(name, "capacity-10"); break;
    case 0x37: case 0xb7: strcpy(name, "defects"); break;
    case 0x4d: snprintf(name, sizeof name, "log-%02x-%02x", cdb[2] & 0x3f, cdb[3]); break;
    case 0x1a: snprintf(name, sizeof name, "mode-%02x", cdb[2] & 0x3f); break;
    case 0x85: case 0xa1: ata(io, cdb); return;
    case 0x9e: strcpy(name, "capacity-16"); break;
    }
    ssize_t got = name[0] ? stored(name, io->dxferp, io->dxfer_len, 0) : -1;
    if (got < 0) fail(io, ILLEGAL, name[0] ? 0x24 : 0x20, NULL); /* invalid field; invalid opcode */
    else io->resid = (int)io->dxfer_len - (int)got;
}

int ioctl(int descriptor, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (descriptor < 0 || descriptor != drive) {
        int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
        return next(descriptor, request, argument);
    }
    if (request == (unsigned)NVME_IOCTL_ID) return 1;
    if (request == NVME_IOCTL_ADMIN_CMD) return nvme(argument);
    if (request == SG_IO && *(int *)argument == 'S') return scsi(argument), 0;
    errno = ENOTTY;
    return -1;
}
