// usage: last_byte RUNS COMMAND...
// Prints the median of the times, in milliseconds, from the last byte of a command's
// output to its exit.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double run(char **command)
{
    int ends[2];
    int status;
    char bytes[65536];
    double last = 0;
    if (pipe(ends)) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execvp(command[0], command);
        _exit(127);
    }
    close(ends[1]);
    while (read(ends[0], bytes, sizeof bytes) > 0) {
        last = now_ms();
    }
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0 || last == 0) {
        return -1;
    }
    return now_ms() - last;
}

int main(int argc, char **argv)
{
    int runs = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0;
    double times[101];
    if (runs < 1 || runs > 101) {
        fprintf(stderr, "usage: last_byte RUNS COMMAND...\n");
        return 2;
    }
    for (int i = 0; i < runs; i++) {
        times[i] = run(argv + 2);
        if (times[i] < 0) {
            fprintf(stderr, "last_byte: %s failed\n", argv[2]);
            return 1;
        }
    }
    qsort(times, (size_t)runs, sizeof *times, compare);
    printf("%.2f\n", times[runs / 2]);
    return 0;
}
