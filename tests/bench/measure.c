// usage: measure RUNS STDIN COMMAND...
// Runs a command with the file STDIN as its input and /dev/null as its output, and prints
// the median of the wall times in milliseconds and the largest memory of a run in KiB (of
// the command itself, not of what it started).

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
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

static void become(const char *input, char **command)
{
    int in = open(input, O_RDONLY);
    int out = open("/dev/null", O_WRONLY);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0) {
        perror(input);
        _exit(127);
    }
    close(in);
    close(out);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

int main(int argc, char **argv)
{
    int runs = argc > 3 ? (int)strtol(argv[1], NULL, 10) : 0;
    double times[101];
    long memory = 0;
    if (runs < 1 || runs > 101) {
        fprintf(stderr, "usage: measure RUNS STDIN COMMAND...\n");
        return 2;
    }
    for (int i = 0; i < runs; i++) {
        double start = now_ms();
        pid_t pid = fork();
        if (pid == 0) {
            become(argv[2], argv + 3);
        }
        int status;
        struct rusage usage;
        if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || status != 0) {
            fprintf(stderr, "measure: %s failed\n", argv[3]);
            return 1;
        }
        times[i] = now_ms() - start;
        memory = usage.ru_maxrss > memory ? usage.ru_maxrss : memory;
    }
    qsort(times, (size_t)runs, sizeof(*times), compare);
    printf("%.2f %ld\n", times[runs / 2], memory);
    return 0;
}
