// usage: rewrite FILE OLD NEW
// The floor for an edit: reads a file, replaces one text, writes it beside the old one
// and renames, with the fsyncs that make it last.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, bytes, n);
        if (k <= 0) {
            perror("write");
            exit(1);
        }
        bytes += k;
        n -= (size_t)k;
    }
}

int main(int argc, char **argv)
{
    struct stat st;
    int fd = argc == 4 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr, "usage: rewrite FILE OLD NEW\n");
        return 2;
    }
    size_t n = (size_t)st.st_size, got = 0;
    char *text = malloc(n + 1);
    while (text != NULL && got < n) {
        ssize_t k = read(fd, text + got, n - got);
        if (k <= 0) {
            return 1;
        }
        got += (size_t)k;
    }
    char *hit = text != NULL ? memmem(text, n, argv[2], strlen(argv[2])) : NULL;
    int out = open("rewrite.tmp", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (hit == NULL || out < 0) {
        fprintf(stderr, "rewrite: nothing to replace\n");
        return 1;
    }
    put(out, text, (size_t)(hit - text));
    put(out, argv[3], strlen(argv[3]));
    hit += strlen(argv[2]);
    put(out, hit, n - (size_t)(hit - text));
    int dir = open(".", O_RDONLY | O_DIRECTORY);
    if (fsync(out) != 0 || rename("rewrite.tmp", argv[1]) != 0 || fsync(dir) != 0) {
        perror(argv[1]);
        return 1;
    }
    close(dir);
    close(out);
    close(fd);
    free(text);
    return 0;
}
