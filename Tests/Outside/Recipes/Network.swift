import Sallyport

struct MailError: Error {}

// recipe: starttls
func openMail(_ sallyport: Sallyport) async throws {
    try await sallyport.sockets.withConnection(to: "mail.corp.example:587", isSecure: false) { mail in
        _ = try await reply(of: mail)
        try await mail.write("EHLO report.example\r\n")
        _ = try await reply(of: mail)
        try await mail.write("STARTTLS\r\n")
        guard try await reply(of: mail).hasPrefix("220") else { throw MailError() }
        try await mail.startTLS()
        try await mail.write("EHLO report.example\r\n")
        print(try await reply(of: mail))
    }
}

/// A whole reply of SMTP, and not a byte more: its last line has a space behind the code.
private func reply(of mail: ByteStream) async throws -> String {
    var text = ""
    while let bytes = try await mail.read() {
        text += String(decoding: bytes, as: UTF8.self)
        let lines = text.split(separator: "\r\n")
        if text.hasSuffix("\r\n"), lines.last?.dropFirst(3).first == " " { return text }
    }
    throw MailError()
}
// end

// recipe: names
func resolve(_ sallyport: Sallyport) async throws {
    let answer = try await sallyport.names.lookUp("db.corp.example", .a)
    print(answer.exists, answer.addresses, answer.canonicalName)
}
// end

// recipe: token
func loadAsUser(_ sallyport: Sallyport, challenge: String) async throws -> Int {
    let token = try await sallyport.authTokens.token(challenge: challenge, serverName: "reports.corp.example")
    var request = try LoadRequest.get("https://reports.corp.example/today")
    request.headerFields[AuthToken.fieldName] = token.text.reveal()
    if let name = HTTPField.Name("X-Good-GD-UserID") {
        request.headerFields[name] = sallyport.authorization.configuration.application?.userID
    }
    return try await sallyport.session.data(for: request).head.status.code
}
// end

// recipe: reachability
func followReachability(of sallyport: Sallyport) async {
    for await state in sallyport.reachability.changes() {
        print(state.status.isReachable ? "the gateway is within reach" : "\(state)")
    }
}

func patientSession(of sallyport: Sallyport) -> SecureSession {
    var configuration = SessionConfiguration()
    configuration.waitsForConnectivity = true  // instead of failing while there is no connection
    configuration.resourceTimeout = .seconds(600)
    return sallyport.makeSession(configuration)
}
// end
