#include "base/json_writer.h"

#include <inttypes.h>

static void begin_value(struct json_writer *w, const char *key)
{
    if (w->comma) {
        buf_addc(w->out, ',');
    }
    w->comma = true;
    if (key) {
        json_write_string(w->out, sv_of(key));
        buf_addc(w->out, ':');
    }
}

void json_write_open(struct json_writer *w, const char *key, char bracket)
{
    begin_value(w, key);
    buf_addc(w->out, bracket);
    w->comma = false;
}

void json_write_close(struct json_writer *w, char bracket)
{
    buf_addc(w->out, bracket);
    w->comma = true;
}

void json_write_text(struct json_writer *w, const char *key, struct sv text)
{
    begin_value(w, key);
    json_write_string(w->out, text);
}

void json_write_str(struct json_writer *w, const char *key, const char *text)
{
    json_write_text(w, key, sv_of(text));
}

void json_write_int(struct json_writer *w, const char *key, int64_t value)
{
    begin_value(w, key);
    buf_addf(w->out, "%" PRId64, value);
}

void json_write_bool(struct json_writer *w, const char *key, bool value)
{
    begin_value(w, key);
    buf_adds(w->out, value ? "true" : "false");
}

void json_write_tree(struct json_writer *w, const char *key, const struct json *value)
{
    begin_value(w, key);
    json_write(w->out, value);
}

void json_write_raw(struct json_writer *w, const char *key, struct sv text)
{
    begin_value(w, key);
    buf_addsv(w->out, text);
}
