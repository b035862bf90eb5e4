# A real HTTP server between pi and the model server; source it after lib_mock.sh.
command -v nginx >/dev/null && command -v openssl >/dev/null || {
    echo 'nginx or openssl is not installed'
    exit 77
}

# certify: a private authority, ca.pem, and a certificate of it for model.test, server.pem.
certify() {
    local key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
    # shellcheck disable=SC2086
    openssl req -x509 $key -keyout ca.key -out ca.pem -days 2 -subj '/CN=pi test authority' &&
        openssl req $key -keyout server.key -out server.csr -subj '/CN=model.test' &&
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
            -out server.pem -extfile <(echo 'subjectAltName=DNS:model.test,IP:127.0.0.1')
} 2>openssl.log

# nginx_before PORT: passes on to that port what comes by TLS at $tls_port (HTTP/2, too) and
# without at $plain_port, as a proxy, too. Each request is a line in access.log.
nginx_before() {
    local try pid
    mkdir -p nginx
    for try in $(seq 20); do
        # Below the ports that the system hands out by itself.
        tls_port=$((20000 + RANDOM % 12000)) plain_port=$((tls_port + 1))
        cat >nginx.conf <<END
daemon off;
master_process off;
pid $PWD/nginx/pid;
error_log $PWD/nginx/error.log;
events { worker_connections 64; }
http {
    client_body_temp_path $PWD/nginx/body;
    proxy_temp_path $PWD/nginx/proxy;
    fastcgi_temp_path $PWD/nginx/fastcgi;
    uwsgi_temp_path $PWD/nginx/uwsgi;
    scgi_temp_path $PWD/nginx/scgi;
    log_format way '\$server_port \$server_protocol \$host \$status';
    access_log $PWD/access.log way;
    client_max_body_size 64m;
    proxy_buffering off;
    proxy_http_version 1.1;
    proxy_set_header Connection '';
    proxy_read_timeout 60s;
    gzip on;
    gzip_types text/event-stream application/json;
    server {
        listen 127.0.0.1:$tls_port ssl http2;
        ssl_certificate $PWD/server.pem;
        ssl_certificate_key $PWD/server.key;
        location / { proxy_pass http://127.0.0.1:$1; }
    }
    server {
        listen 127.0.0.1:$plain_port;
        location / { proxy_pass http://127.0.0.1:$1; }
    }
}
END
        rm -f nginx/pid
        nginx -p "$PWD/nginx" -c "$PWD/nginx.conf" -e "$PWD/nginx/error.log" 2>nginx.err &
        pid=$!
        if soon nginx_decided $pid && [ -s nginx/pid ]; then
            started+=($pid)
            return
        fi
        wait $pid # the ports were taken; that is no failure of a server
    done
    fail "nginx did not start: $(tail -n 3 nginx/error.log)"
}
nginx_decided() { [ -s nginx/pid ] || gone "$1"; }
