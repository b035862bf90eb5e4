#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/** Starts command on a terminal of its own; *terminal is our end of it. Ends the program
 * with 2 when there is no terminal. For programs with one thread. */
static inline pid_t terminal_start(int *terminal, char **command, struct winsize size)
{
    *terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*terminal < 0 || grantpt(*terminal) || unlockpt(*terminal)) {
        perror("terminal");
        exit(2);
    }
    const char *name = ptsname(*terminal);
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    setsid();
    int slave = open(name, O_RDWR);
    ioctl(slave, TIOCSCTTY, 0);
    ioctl(slave, TIOCSWINSZ, &size);
    for (int fd = 0; fd < 3; fd++) {
        dup2(slave, fd);
    }
    close(slave);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}
