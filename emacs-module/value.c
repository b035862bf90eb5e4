#include "value.h"

#include "base/error.h"

bool value_ok(emacs_env *env)
{
    return env->non_local_exit_check(env) == emacs_funcall_exit_return;
}

bool value_add_bytes(emacs_env *env, emacs_value string, struct buf *out)
{
    ptrdiff_t size = 0; // with the final NUL
    if (!env->copy_string_contents(env, string, NULL, &size)) {
        return false;
    }
    if (!buf_reserve(out, (size_t)size)) {
        struct pi_error err;
        (void)error_nomem(&err);
        value_signal(env, &err);
        return false;
    }
    if (!env->copy_string_contents(env, string, out->data + out->len, &size)) {
        return false;
    }
    out->len += (size_t)size - 1;
    return true;
}

emacs_value value_symbol(emacs_env *env, const char *name)
{
    return env->intern(env, name);
}

emacs_value value_nil(emacs_env *env)
{
    return env->intern(env, "nil");
}

bool value_is(emacs_env *env, emacs_value value, const char *name)
{
    emacs_value symbol = env->intern(env, name);
    return value_ok(env) && env->eq(env, value, symbol);
}

emacs_value value_bytes(emacs_env *env, struct sv bytes)
{
    return env->make_unibyte_string(env, bytes.p ? bytes.p : "", (ptrdiff_t)bytes.n);
}

emacs_value value_number(emacs_env *env, uint64_t number)
{
    return env->make_integer(env, (intmax_t)number);
}

static emacs_value call(emacs_env *env, const char *function, emacs_value *args,
                        size_t len)
{
    return env->funcall(env, env->intern(env, function), (ptrdiff_t)len, args);
}

emacs_value value_cons(emacs_env *env, emacs_value car, emacs_value cdr)
{
    return call(env, "cons", (emacs_value[]){car, cdr}, 2);
}

emacs_value value_list(emacs_env *env, emacs_value *items, size_t len)
{
    return call(env, "list", items, len);
}

// A message may quote the name of a file, which need not be UTF-8; then it is shown as
// bytes.
static emacs_value text(emacs_env *env, const char *message)
{
    struct sv bytes = sv_of(message);
    emacs_value string = env->make_string(env, bytes.p, (ptrdiff_t)bytes.n);
    if (!value_ok(env)) {
        env->non_local_exit_clear(env);
        string = value_bytes(env, bytes);
    }
    return string;
}

void value_signal(emacs_env *env, const struct pi_error *err)
{
    emacs_value data[] = {
        text(env, err->message),
        value_symbol(env, pi_status_name(err->code)),
    };
    emacs_value list = value_list(env, data, 2);
    if (value_ok(env)) {
        env->non_local_exit_signal(env, value_symbol(env, "pi-error"), list);
    }
}

void value_signal_status(emacs_env *env, enum pi_status status, const char *message)
{
    struct pi_error err;
    (void)error_set(&err, status, "%s", message);
    value_signal(env, &err);
}
