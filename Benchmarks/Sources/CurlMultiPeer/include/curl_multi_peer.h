#pragma once

#include <stdbool.h>

// The limit to come close to: libcurl's multi interface driven by epoll in C, with easy handles kept.

typedef struct {
    const char *url;
    // All optional: where the server's certificate and the relay lead.
    const char *ca_file;
    const char *proxy_url;
    const char *proxy_ca_file;
    const char *proxy_certificate_file;
    const char *proxy_key_file;
    // Bytes that each request sends by PUT; 0 for a GET.
    long sends;
    // Whether HTTP/2 is offered over TLS, and one connection used for all.
    bool http2;
} curl_multi_peer_options;

typedef struct curl_multi_peer curl_multi_peer;

// NULL where libcurl cannot be set up.
curl_multi_peer *curl_multi_peer_new(const curl_multi_peer_options *options, int concurrency);

// Makes `total` requests, `concurrency` at once. Returns the bytes of all bodies, or -1 where one failed.
long long curl_multi_peer_run(curl_multi_peer *peer, long total);

void curl_multi_peer_free(curl_multi_peer *peer);
