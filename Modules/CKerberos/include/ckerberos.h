#pragma once

// Kerberos 5 on libkrb5 (MIT) for one caller at a time, and nothing of the host: no krb5.conf, no environment, no DNS, no
// plug-in, no socket. What goes to a KDC and comes from it passes through the caller.
//
// Numbers that functions give back are 0, or an error code of krb5; `sk_describe` has its words. Bytes that come out are
// freed with `sk_bytes_free`, which clears them first. No handle may be used by two threads at once.

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *_Nullable bytes;
    size_t count;
} sk_bytes;

void sk_bytes_free(sk_bytes *_Nonnull bytes);
/// Clears memory in a way that no compiler leaves out.
void sk_clear(void *_Nonnull memory, size_t count);

/// A library context with a profile of its own.
typedef struct sk_context sk_context;
int32_t sk_context_make(sk_context *_Nullable *_Nonnull out);
void sk_context_free(sk_context *_Nullable context);
/// Words for an error of this context: at most `count` bytes with the final zero.
void sk_describe(sk_context *_Nonnull context, int32_t code, char *_Nonnull out, size_t count);
/// The KDC's time, as far as it is known, is so many seconds ahead of the system's.
int32_t sk_set_offset(sk_context *_Nonnull context, int32_t seconds);
int32_t sk_offset(sk_context *_Nonnull context);

/// A ticket with its session key. Belongs to no context.
typedef struct sk_ticket sk_ticket;
void sk_ticket_free(sk_ticket *_Nullable ticket);
typedef struct {
    int64_t starts, ends, renewable_until;
    uint32_t flags;
} sk_ticket_facts;
sk_ticket_facts sk_ticket_look(const sk_ticket *_Nonnull ticket);
/// The client's name, or the service's, in the text form of krb5.
int32_t sk_ticket_client(sk_context *_Nonnull context, const sk_ticket *_Nonnull ticket, sk_bytes *_Nonnull out);
int32_t sk_ticket_server(sk_context *_Nonnull context, const sk_ticket *_Nonnull ticket, sk_bytes *_Nonnull out);
/// Whether it is for the ticket-granting service.
int sk_ticket_is_granting(const sk_ticket *_Nonnull ticket);
/// krb5's own form, with the session key.
int32_t sk_ticket_marshal(sk_context *_Nonnull context, const sk_ticket *_Nonnull ticket, sk_bytes *_Nonnull out);
int32_t sk_ticket_unmarshal(
    sk_context *_Nonnull context, const uint8_t *_Nonnull bytes, size_t count, sk_ticket *_Nullable *_Nonnull out);

/// A talk with KDCs, one message after the other. Uses its context until it is freed.
typedef struct sk_talk sk_talk;
void sk_talk_free(sk_talk *_Nullable talk);

typedef struct {
    /// `name@REALM`.
    const char *_Nonnull client;
    /// One of the two: the password, or the path of a keytab.
    const char *_Nullable password;
    const char *_Nullable keytab;
    int forwardable;
} sk_sign_in;
/// Asks for a ticket-granting ticket (RFC 4120 §3.1).
int32_t sk_talk_sign_in(
    sk_context *_Nonnull context, const sk_sign_in *_Nonnull who, sk_talk *_Nullable *_Nonnull out);
/// Asks for a ticket for SERVICE/HOST (§3.3), by referrals where the realm does not know it (RFC 6806 §8).
int32_t sk_talk_ask(
    sk_context *_Nonnull context, const sk_ticket *_Nonnull granting, const char *_Nonnull service,
    const char *_Nonnull host, sk_talk *_Nullable *_Nonnull out);
/// Takes a KDC's answer, none at first, and gives the next message and the realm that it is for. `*is_done`: there is
/// none, and `sk_talk_ticket` has the ticket.
int32_t sk_talk_step(
    sk_talk *_Nonnull talk, const uint8_t *_Nullable answer, size_t count, sk_bytes *_Nonnull message,
    sk_bytes *_Nonnull realm, int *_Nonnull is_done);
int32_t sk_talk_ticket(sk_talk *_Nonnull talk, sk_ticket *_Nullable *_Nonnull out);
/// Whether bytes are the answer of a KDC that serves. If they are neither a ticket nor an error of Kerberos, or are the
/// error that the service is not available, another KDC may have a better answer.
int sk_is_served(const uint8_t *_Nullable answer, size_t count);

/// Sends a message to a realm's KDC and waits for the answer, which is allocated with malloc; not 0 where there is none.
typedef int32_t (*sk_send)(
    void *_Nullable who, const uint8_t *_Nonnull realm, size_t realm_count, const uint8_t *_Nonnull message,
    size_t count, uint8_t *_Nullable *_Nonnull answer, size_t *_Nonnull answer_count);
/// Renews a ticket-granting ticket (§3.3.3). Blocks in `send`.
int32_t sk_renew(
    sk_context *_Nonnull context, const sk_ticket *_Nonnull granting, sk_send _Nonnull send, void *_Nullable who,
    sk_ticket *_Nullable *_Nonnull out);

/// Asks for a ticket-granting ticket that may be handed on (§3.3.3.1). Blocks in `send`.
int32_t sk_forward(
    sk_context *_Nonnull context, const sk_ticket *_Nonnull granting, sk_send _Nonnull send, void *_Nullable who,
    sk_ticket *_Nullable *_Nonnull out);

/// The tickets of a credential cache's file that can be used: at most `limit`.
int32_t sk_cache_read(
    sk_context *_Nonnull context, const char *_Nonnull path, sk_ticket *_Nullable *_Nonnull tickets, size_t limit,
    size_t *_Nonnull count);
/// The first principal that a keytab has a key of.
int32_t sk_keytab_client(sk_context *_Nonnull context, const char *_Nonnull path, sk_bytes *_Nonnull out);

/// What is known of one AP-REQ: measures the service's answer.
typedef struct sk_proof sk_proof;
void sk_proof_free(sk_proof *_Nullable proof);

typedef struct {
    /// The channel bindings as bytes, whose MD5 is sent (RFC 4121 §4.1.1.2).
    const uint8_t *_Nullable binding;
    size_t binding_count;
    /// A ticket-granting ticket that `sk_forward` made: the service may use it.
    const sk_ticket *_Nullable delegated;
} sk_token_options;
/// Makes an AP-REQ (RFC 4120 §3.2) with the checksum of GSS-API (RFC 4121 §4.1.1), which asks for mutual authentication.
int32_t sk_token_make(
    sk_context *_Nonnull context, const sk_ticket *_Nonnull ticket, const sk_token_options *_Nonnull options,
    sk_bytes *_Nonnull out, sk_proof *_Nullable *_Nonnull proof);
/// 0 where the bytes are the AP-REP that only the service of the ticket can make (§3.2.5).
int32_t sk_proof_check(
    sk_context *_Nonnull context, sk_proof *_Nonnull proof, const uint8_t *_Nonnull answer, size_t count);
/// 0 where `mic` is the service's over `message` (RFC 4121 §4.2.6.1); after `sk_proof_check`.
int32_t sk_proof_check_mic(
    sk_context *_Nonnull context, sk_proof *_Nonnull proof, const uint8_t *_Nonnull message, size_t count,
    const uint8_t *_Nonnull mic, size_t mic_count);

// Errors that callers tell apart.
extern const int32_t sk_wrong_password, sk_unknown_client, sk_unknown_service, sk_expired, sk_skew, sk_not_renewable;
/// The first of 256 that say that bytes are no ASN.1; an answer to another question.
extern const int32_t sk_coding_errors, sk_modified;
extern const int32_t sk_preauth_failed, sk_key_expired, sk_revoked, sk_no_key, sk_aborted;
