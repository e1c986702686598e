#pragma once

#include <curl/curl.h>
#include <string.h>

// Swift cannot call variadic functions: one typed function for each kind of argument.

#pragma push_macro("curl_easy_setopt")
#pragma push_macro("curl_easy_getinfo")
#pragma push_macro("curl_multi_setopt")
#pragma push_macro("curl_share_setopt")
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt

extern char **environ;

/// curl_global_init() without SSLKEYLOGFILE: libcurl opens (and makes) the file that it names right there. The entry is
/// replaced in place for the moment, so that no other thread's getenv() sees the array move.
static inline CURLcode sallyport_curl_global_init(void) {
    static char nothing[] = "SALLYPORT_KEYLOG_IS_OFF=";
    char *kept = NULL;
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, "SSLKEYLOGFILE=", 14) == 0) { kept = *entry; *entry = nothing; break; }
    }
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    for (char **entry = environ; kept && entry && *entry; entry++) {
        if (*entry == nothing) { *entry = kept; break; }
    }
    return code;
}

static inline CURLcode sallyport_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode sallyport_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode sallyport_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode sallyport_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}
/// Copies the bytes.
static inline CURLcode sallyport_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}
static inline CURLcode sallyport_set_data(CURL *easy, CURLoption option, curl_write_callback function) {
    return curl_easy_setopt(easy, option, function);
}
static inline CURLcode sallyport_set_seek(CURL *easy, curl_seek_callback function) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}
static inline CURLcode sallyport_set_opensocket(CURL *easy, curl_opensocket_callback function) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}
static inline CURLcode sallyport_set_closesocket(CURL *easy, curl_closesocket_callback function) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}
static inline CURLcode sallyport_set_prerequest(CURL *easy, curl_prereq_callback function) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}
static inline CURLcode sallyport_set_ssl_context(CURL *easy, curl_ssl_ctx_callback function) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}

static inline long sallyport_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}
static inline curl_off_t sallyport_get_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}
static inline const char *sallyport_get_text(CURL *easy, CURLINFO info) {
    const char *value = NULL;
    curl_easy_getinfo(easy, info, &value);
    return value;
}
static inline void *sallyport_get_private(CURL *easy) {
    void *value = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value);
    return value;
}
static inline curl_socket_t sallyport_get_socket(CURL *easy) {
    curl_socket_t value = CURL_SOCKET_BAD;
    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value);
    return value;
}

/// The SSL of the connection that a transfer uses; NULL where there is none.
static inline void *sallyport_get_tls(CURL *easy) {
    const struct curl_tlssessioninfo *info = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
    return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}

static inline CURLMcode sallyport_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode sallyport_multi_set_callbacks(
    CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    return curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}
static inline CURLSHcode sallyport_share_sessions(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}
/// The handle and the result of a finished transfer; NULL where there is none.
static inline CURL *sallyport_next_done(CURLM *multi, CURLcode *result) {
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

#pragma pop_macro("curl_easy_setopt")
#pragma pop_macro("curl_easy_getinfo")
#pragma pop_macro("curl_multi_setopt")
#pragma pop_macro("curl_share_setopt")
