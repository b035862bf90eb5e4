#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** A model server (mock.md) for a test: a process that is ended with the struct. */
struct process_mock {
    pid_t pid;
    unsigned port;
    char dir[64]; // holds its script and log
};

/** Starts $PI_MOCK with this script; false when it does not come up within 10 s. */
bool process_mock_start(struct process_mock *m, const char *script);

/** The number of lines of its log that hold text. */
size_t process_mock_logged(const struct process_mock *m, const char *text);

/** Ends it and removes its files; false when it did not end well. */
bool process_mock_stop(struct process_mock *m);
