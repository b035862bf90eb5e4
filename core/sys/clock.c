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

// The number that stands at a place of the form, -1 when it does not.
static int digits(const char *text, size_t at, size_t n)
{
    int value = 0;
    for (size_t i = at; i < at + n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

bool clock_parse_iso(int64_t *unix_ms, const char *text)
{
    size_t n = strlen(text);
    bool long_form = n == strlen("2026-01-31T12:00:00.000Z");
    if ((!long_form && n != strlen("2026-01-31T12:00:00Z")) || text[n - 1] != 'Z' ||
        text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
        text[16] != ':' || (long_form && text[19] != '.')) {
        return false;
    }
    struct tm tm = {
        .tm_year = digits(text, 0, 4) - 1900,
        .tm_mon = digits(text, 5, 2) - 1,
        .tm_mday = digits(text, 8, 2),
        .tm_hour = digits(text, 11, 2),
        .tm_min = digits(text, 14, 2),
        .tm_sec = digits(text, 17, 2),
    };
    int ms = long_form ? digits(text, 20, 3) : 0;
    if (tm.tm_year < -1900 || tm.tm_mon < 0 || tm.tm_mday < 0 || tm.tm_hour < 0 ||
        tm.tm_min < 0 || tm.tm_sec < 0 || ms < 0) {
        return false;
    }
    *unix_ms = (int64_t)timegm(&tm) * 1000 + ms;
    return true;
}
