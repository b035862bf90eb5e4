#include "sys/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_ms(clockid_t id)
{
    struct timespec now = {0};
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_mono_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

int64_t clock_unix_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

void clock_date(char out[11])
{
    time_t now = time(NULL);
    struct tm tm;
    if (!localtime_r(&now, &tm) || strftime(out, 11, "%Y-%m-%d", &tm) == 0) {
        memcpy(out, "1970-01-01", 11);
    }
}

void clock_iso(char out[25], int64_t unix_ms)
{
    int64_t ms = unix_ms % 1000;
    time_t seconds = (time_t)(unix_ms / 1000);
    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    struct tm tm;
    // The buffer holds years of four digits; others are shown as the epoch.
    if (!gmtime_r(&seconds, &tm) || tm.tm_year < -1900 || tm.tm_year > 9999 - 1900 ||
        strftime(out, 20, "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
        memcpy(out, "1970-01-01T00:00:00.000Z", 25);
        return;
    }
    size_t len = strlen(out);
    snprintf(out + len, 25 - len, ".%03dZ", (int)ms);
}
