/* Replacement for smartctl in benchmarks. Like the real program it uses 8 ms of CPU time and waits 30 ms
   for the drive. It prints the file in reports/ that the last argument names. It counts its processes in
   the file "tally" in its own directory, which contains a struct tally; bench/smart.py reads it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 8000000
#define WAIT_NS 30000000

struct tally {
    int64_t running, most, ended, first_began_ns, last_ended_ns;
};

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void raise_to(int64_t *most, int64_t value) {
    int64_t seen = *most;
    while (value > seen &&
           !__atomic_compare_exchange_n(most, &seen, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
}

static void print(const char *here, const char *name) {
    static char path[PATH_MAX * 2], text[1 << 16];
    snprintf(path, sizeof path, "%s/reports/%s", here, name);
    int file = open(path, O_RDONLY);
    if (file < 0) exit(2);
    for (ssize_t size; (size = read(file, text, sizeof text)) > 0;)
        if (write(1, text, size) != size) exit(4);
}

int main(int argc, char **argv) {
    static char self[PATH_MAX], path[PATH_MAX + 16];
    int64_t began = now_ns(CLOCK_MONOTONIC), none = 0;
    if (argc < 2 || readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
    const char *here = dirname(self), *last = argv[argc - 1];
    if (*last == '-') {
        print(here, last);
        return 0;
    }
    snprintf(path, sizeof path, "%s/tally", here);
    int file = open(path, O_RDWR);
    struct tally *tally =
        mmap(0, sizeof(struct tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (tally == MAP_FAILED) return 1;
    __atomic_compare_exchange_n(&tally->first_began_ns, &none, began, 0, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    raise_to(&tally->most, __atomic_add_fetch(&tally->running, 1, __ATOMIC_SEQ_CST));
    while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < SPIN_NS) {
    }
    struct timespec wait = {0, WAIT_NS};
    nanosleep(&wait, 0);
    print(here, strrchr(last, '/') ? strrchr(last, '/') + 1 : last);
    raise_to(&tally->last_ended_ns, now_ns(CLOCK_MONOTONIC));
    __atomic_sub_fetch(&tally->running, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&tally->ended, 1, __ATOMIC_SEQ_CST);
    return 0;
}
