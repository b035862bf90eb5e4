#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

/**
 * What sys/process.c and the program pi-guard say to each other. Both are of one build;
 * GUARD_VERSION is the only argument of the program and must match.
 *
 * The control channel is a pair of SOCK_SEQPACKET sockets: orders go to the guard,
 * reports come back, one struct a packet. The agent holds the only descriptor of its end,
 * closed on exec: when it closes, by whatever death, the guard ends every process of the
 * command.
 *
 * The request is a memory file: file limit (decimal, 0 = leave it), working directory,
 * log path ("" = none), shell, each ended by NUL, then the command up to the end of the
 * file. It is no argument, so that a command like `pkill -f NAME` does not hit the guard.
 */

#define GUARD_VERSION "1"

/** Descriptors of the guard at its start; 0 is /dev/null, 1 and 2 the output pipe. */
enum {
    GUARD_CONTROL_FD = 3,
    GUARD_OUTPUT_FD = 4, // read end of the output pipe
    GUARD_REQUEST_FD = 5,
};

enum guard_order_type {
    GUARD_END,  // end all processes: TERM, grace_ms, KILL; may be repeated to shorten
    GUARD_LIST, // after GUARD_EXITED: report GUARD_LEFT
    GUARD_TAKE, // read the output pipe from now on and append it to the log
};

struct guard_order {
    int32_t type;
    int32_t grace_ms;
};

enum guard_report_type {
    GUARD_STARTED,  // value: pid of the shell, which leads a session of its own
    GUARD_NO_CHDIR, // value: errno; the shell was not started
    GUARD_NO_EXEC,  // value: errno; the shell was not started
    GUARD_EXITED,   // value: wait status of the shell; more: other processes still run
    GUARD_LEFT,     // value: how many processes still run; text: "PID NAME, PID NAME"
};

struct guard_report {
    int32_t type;
    int32_t value;
    int32_t more;
    char text[244];
};

enum {
    GUARD_GRACE_MS = 2000,       // between TERM and KILL
    GUARD_URGENT_GRACE_MS = 300, // the same with less patience
};

/** Size of a log that is never exceeded. */
#define LOG_MAX_BYTES (2LL * 1024 * 1024 * 1024)

/** How often the disk is looked at while a log grows. */
#define LOG_CHECK_BYTES (16LL * 1024 * 1024)

/**
 * How many bytes may be appended to a log that holds `size` bytes before asking again, 0
 * = none: it stays below LOG_MAX_BYTES and the process's own limit for files, whose
 * signal would kill the process, and 5 % of the disk stay free.
 */
static inline int64_t log_room(int fd, int64_t size)
{
    struct rlimit limit;
    struct statvfs disk;
    int64_t max = LOG_MAX_BYTES;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)max) {
        max = (int64_t)limit.rlim_cur;
    }
    if (size >= max || (fstatvfs(fd, &disk) == 0 && disk.f_bavail < disk.f_blocks / 20)) {
        return 0;
    }
    return max - size < LOG_CHECK_BYTES ? max - size : LOG_CHECK_BYTES;
}
