// usage: PROGRAM DIRECTORY...
// Runs a fuzz target on every file below the directories, without libFuzzer, so that
// what a fuzzer once found stays found. A directory without files is a failure: a test
// that replays nothing proves nothing.

#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static size_t replayed; // nftw hands no pointer on

static int replay(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type != FTW_F || !S_ISREG(st->st_mode)) {
        return 0;
    }
    // Exactly as long as the file, so that a sanitizer sees the first byte read too many.
    size_t len = (size_t)st->st_size;
    uint8_t *bytes = malloc(len);
    FILE *file = fopen(path, "rb");
    int result = -1;
    if (bytes == NULL || file == NULL || fread(bytes, 1, len, file) != len) {
        fprintf(stderr, "%s: cannot be read\n", path);
        goto out;
    }
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(bytes, len);
    replayed++;
    result = 0;
out:
    if (file != NULL) {
        fclose(file);
    }
    free(bytes);
    return result;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t before = replayed;
        if (nftw(argv[i], replay, 16, FTW_PHYS) != 0) {
            fprintf(stderr, "%s: corpus missing or not readable\n", argv[i]);
            return EXIT_FAILURE;
        }
        if (replayed == before) {
            fprintf(stderr, "%s: corpus is empty\n", argv[i]);
            return EXIT_FAILURE;
        }
    }
    if (replayed == 0) {
        fprintf(stderr, "usage: %s DIRECTORY...\n", argv[0]);
        return EXIT_FAILURE;
    }
    printf("%zu inputs\n", replayed);
    return EXIT_SUCCESS;
}
