#include "oom.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

// Atomic, since tools run on threads of their own.
static atomic_size_t left; // allocations until one fails; 0: none will
static atomic_bool failed;

void oom_start(size_t n)
{
    left = n;
    failed = false;
}

bool oom_stop(void)
{
    left = 0;
    return failed;
}

static bool fails_now(void)
{
    size_t n = left;
    while (n > 0 && !atomic_compare_exchange_weak(&left, &n, n - 1)) {
    }
    if (n != 1) {
        return false;
    }
    failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

void *oom_malloc(size_t size)
{
    return __wrap_malloc(size);
}
