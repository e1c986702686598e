import SallyportBase

@testable import SallyportKerberos

extension FuzzTarget {
    static let kerberos = [kdcAnswer, kdcStream, ticketRecord, kerberosUser, negotiateAnswer, spnego]

    /// What a KDC answers to the first message of a sign-in: krb5 reads it.
    private static let kdcAnswer = FuzzTarget(
        "kdc-answer",
        words: [
            "\u{7e}", "\u{6b}", "\u{30}\u{80}", "\u{a0}\u{3}\u{2}\u{1}\u{5}", "\u{1b}", "EXAMPLE.TEST", "\u{18}\u{f}",
            "Z",
        ]
    ) { bytes throws(BrokenProperty) in
        guard let user = try? KerberosUser("ann@EXAMPLE.TEST"), let password = Password(Redacted("secret")),
            let talk = try? KDCTalk.signIn(user, with: .password(password), isForwardable: false)
        else { throw BrokenProperty(description: "No sign-in can be begun.") }
        guard case .send? = try? talk.step([]) else {
            throw BrokenProperty(description: "A sign-in has no first message.")
        }
        let next = try? talk.step(bytes)
        if case .done? = next { throw BrokenProperty(description: "A ticket came of bytes without a key.") }
    }

    /// In one piece and byte by byte the same comes.
    private static let kdcStream = FuzzTarget("kdc-stream", words: ["\0\0\0\u{4}", "\0\0\u{1}\0", "\u{7f}", "\0"]) {
        bytes throws(BrokenProperty) in
        var (whole, parts) = (AnswerReader(limit: 300), AnswerReader(limit: 300))
        let answer = try? whole.receive(bytes)
        var single: [UInt8]?
        for byte in bytes where single == nil {
            // The same failure as of the whole.
            guard case .success(let found) = Result(catching: { try parts.receive([byte]) }) else { break }
            single = found
        }
        try demand(answer ?? nil == single, "An answer depends on the pieces in which it comes.")
        try demand(single.map { $0.count <= 300 } ?? true, "An answer is longer than its limit.")
    }

    private static let ticketRecord = FuzzTarget(
        "ticket-record", words: ["\0\0\0\u{4}", "HTTP", "ann@R", "\u{1}", "\0\0\0\0", "instance"]
    ) { bytes throws(BrokenProperty) in
        guard let record = TicketRecord(bytes) else { return }
        try demand(record.bytes == bytes, "A record has two spellings.")
        var book = TicketBook()
        // krb5 reads what stands in it.
        record.fill(&book)
    }

    private static let kerberosUser = FuzzTarget(
        "kerberos-user", text: ["ann", "@", "\\@", "\\", "/", "R", "\0", "ü", "\u{301}"]
    ) { text throws(BrokenProperty) in
        guard let user = try? KerberosUser(text) else { return }
        try demandRoundTrip(user, \.description) { try KerberosUser($0) }
        try demand(KerberosUser(krb5Name: user.krb5Name) == user, "krb5 is told another user.")
    }

    private static let negotiateAnswer = FuzzTarget(
        "negotiate-answer", text: ["oQ", "YIG", "==", "a1", "KoZIhvcSAQIC", "+", "/"]
    ) { text throws(BrokenProperty) in _ = try? NegotiateSignature.answer(in: text) }

    private static let spnego = FuzzTarget(
        "spnego",
        words: [
            "\u{60}", "\u{30}", "\u{6}\u{6}+\u{6}\u{1}\u{5}\u{5}\u{2}", "\u{a}\u{1}\0", "\u{4}\u{0}", "\u{2}\0", "\0",
        ]
    ) { bytes throws(BrokenProperty) in
        if let token = try? SPNEGOToken(parsing: bytes) {
            let again = try? SPNEGOToken(parsing: token.serialized)
            try demand(again == token, "A token of SPNEGO is read as another.")
        }
        guard let token = try? GSSToken(parsing: bytes) else { return }
        // DER: one value has one spelling.
        try demand(token.serialized == bytes, "A token of GSS-API has two spellings.")
        guard let kerberos = try? KerberosToken(parsing: bytes) else { return }
        let again = try? KerberosToken(parsing: kerberos.serialized)
        try demand(again == kerberos, "A token of Kerberos is read as another.")
    }
}
