internal import CKerberos
internal import Logging
internal import SallyportBase
internal import SallyportCore

// How tickets are obtained: from memory or the store, otherwise from the realm.

extension Kerberos {
    /// A valid ticket for a service and, if the service may receive one, the ticket with which it acts for the user.
    ///
    /// - Parameter password: the user's password, if there is no other source of tickets, or a different one. The realm
    ///   checks it, unless the tickets here were obtained with the same one.
    func tickets(
        for service: ServiceName, of owner: TicketOwner, password: Redacted<String>?
    ) async throws(KerberosError) -> ServiceTickets {
        // One for all that is requested: a ticket for the service may need one that asks for it, and another try.
        let deadline = client.deadline
        beginWait(for: owner)
        defer { endWait(for: owner) }
        try load()
        if let password { try take(password, for: owner) }
        let applicant = self.applicant(owner)
        let isNew = known(service, applicant) == nil
        let ticket = try await ticket(for: service, of: applicant, until: deadline)
        var tickets = ServiceTickets(service: ticket, isNew: isNew)
        if allowsDelegation, tickets.service.isTrustedForDelegation {
            let forwarded = try await forwarded(of: applicant, until: deadline)
            // The app may have forbidden it meanwhile.
            if allowsDelegation { tickets.delegated = forwarded }
        }
        return tickets
    }

    /// The tickets that are already known or stored; asks no KDC.
    ///
    /// - Returns: nil also if there is a password with which the tickets here may not have been obtained.
    func ticketsAtHand(
        for service: ServiceName, of owner: TicketOwner, password: Redacted<String>?
    ) throws(KerberosError) -> ServiceTickets? {
        try load()
        // A new user's password is taken by the call that verifies it: until then no other user makes room for them.
        guard state.books[owner] != nil else { return nil }
        if let password { try take(password, for: owner) }
        let applicant = self.applicant(owner)
        guard let ticket = known(service, applicant) else { return nil }
        var tickets = ServiceTickets(service: ticket, isNew: false)
        if allowsDelegation, ticket.isTrustedForDelegation {
            guard let forwarded = knownForwarded(applicant) else { return nil }
            tickets.delegated = forwarded
        }
        return tickets
    }

    private func knownForwarded(_ applicant: Applicant) -> Ticket? {
        let now = clock()
        return book(of: applicant)?.forwarded.flatMap { $0.holds(at: now) ? $0 : nil }
    }

    /// The tickets for one token.
    struct ServiceTickets: Sendable {
        let service: Ticket
        /// The ticket with which the service acts for the user.
        var delegated: Ticket?
        /// Whether the ticket was just obtained from the realm.
        let isNew: Bool
    }

    /// The user, with the source that their tickets have now.
    func applicant(_ owner: TicketOwner) -> Applicant {
        Applicant(owner: owner, source: state.books[owner]?.source)
    }

    /// The user's tickets; nil if they are obtained with another secret meanwhile. If a secret was only forgotten, the
    /// tickets that were obtained with it stay.
    private func book(of applicant: Applicant) -> TicketBook? {
        let book = state.books[applicant.owner] ?? TicketBook()
        return book.source == nil || book.source == applicant.source ? book : nil
    }

    /// Keeps a password in memory, unless access is withdrawn: it was dropped then, and must not come back.
    func take(_ password: Redacted<String>, for owner: TicketOwner) throws(KerberosError) {
        try checkAccess()
        guard let password = Password(password) else {
            throw KerberosError(.wrongPassword, "A password has no zero in it.")
        }
        take(.secret(.password(password)), for: owner)
    }

    // MARK: Services

    private func ticket(
        for service: ServiceName, of applicant: Applicant, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        if let ticket = known(service, applicant) { return ticket }
        return try await work.value(of: .service(applicant, service)) { () async throws(KerberosError) in
            try await self.askOnce(for: service, applicant, until: deadline)
        }
    }

    private func askOnce(
        for service: ServiceName, _ applicant: Applicant, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        // Another load may have obtained the ticket meanwhile.
        if let ticket = known(service, applicant) { return ticket }
        let generation = state.generation
        let ticket = try await ask(for: service, applicant, until: deadline)
        await keep(applicant, generation) { $0.put(ticket, for: service) }
        return ticket
    }

    private func known(_ service: ServiceName, _ applicant: Applicant) -> Ticket? {
        let now = clock()
        return book(of: applicant)?.services[service].flatMap { $0.holds(at: now) ? $0 : nil }
    }

    /// Tries once more with a new ticket-granting ticket if the realm refuses the existing one.
    private func ask(
        for service: ServiceName, _ applicant: Applicant, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        let granting = try await granting(of: applicant, until: deadline)
        do throws(KerberosError) {
            return try await run(KDCTalk.ask(for: service, with: granting), until: deadline)
        } catch {
            guard [.ticketExpired, .wrongPassword, .clockSkew].contains(error.code) else { throw error }
            state.books[applicant.owner]?.drop(granting: granting)
        }
        let another = try await self.granting(of: applicant, until: deadline)
        return try await run(KDCTalk.ask(for: service, with: another), until: deadline)
    }

    // MARK: The ticket-granting ticket

    func granting(
        of applicant: Applicant, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        let now = clock()
        let known = book(of: applicant)?.granting
        if let known, known.holds(at: now), !known.wantsRenewal(at: now) { return known }
        return try await work.value(of: .granting(applicant)) { () async throws(KerberosError) in
            try await self.signInOnce(applicant, until: deadline)
        }
    }

    private func signInOnce(
        _ applicant: Applicant, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        let (generation, now) = (state.generation, clock())
        if let known = book(of: applicant)?.granting, known.holds(at: now) {
            guard known.wantsRenewal(at: now), let renewed = await renewed(known, until: deadline) else { return known }
            await keep(applicant, generation) { $0.put(granting: renewed) }
            return renewed
        }
        let ticket = try await signIn(applicant, until: deadline)
        await keep(applicant, generation) { $0.put(granting: ticket) }
        return ticket
    }

    /// Nil if the realm does not renew it: it is then used until it expires.
    private func renewed(_ ticket: Ticket, until deadline: ContinuousClock.Instant) async -> Ticket? {
        do throws(KerberosError) {
            return try await unsafe BlockingKDC.run(with: client, offset: ticket.offset, until: deadline) {
                context, send, who, made in unsafe sk_renew(context, ticket.handle, send, who, &made)
            }
        } catch {
            logger.debug("A ticket is not renewed.", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private func signIn(
        _ applicant: Applicant, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        // A password that was found wrong, or forgotten, meanwhile is not tried by the loads that waited for their
        // turn.
        guard state.books[applicant.owner]?.source != nil, let source = applicant.source else {
            throw KerberosError(.noTicket, "There is no ticket of the user, and no way to obtain one.")
        }
        switch source {
        case .cache(let path):
            // A load that began before a lock must not bring back the ticket that was dropped then.
            try checkAccess()
            let (user, ticket) = try HostFiles.granting(ofCache: path)
            guard user == applicant.owner.user, ticket.holds(at: clock()) else {
                throw KerberosError(.noTicket, "The credential cache has no ticket of the user that holds.")
            }
            return ticket
        case .secret(let secret):
            do throws(KerberosError) {
                let user = applicant.owner.user
                let talk = try KDCTalk.signIn(user, with: secret, isForwardable: allowsDelegation)
                return try await run(talk, until: deadline)
            } catch {
                // It is wrong, and is not tried again automatically: realms lock users out.
                if error.code == .wrongPassword { drop(secret, of: applicant.owner) }
                throw error
            }
        }
    }

    private func drop(_ secret: SignInSecret, of owner: TicketOwner) {
        guard case .password = secret else { return }
        if state.books[owner]?.source == .secret(secret) { state.books[owner]?.source = nil }
    }

    // MARK: Delegation

    private func forwarded(
        of applicant: Applicant, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        if let known = knownForwarded(applicant) { return known }
        return try await work.value(of: .forwarded(applicant)) { () async throws(KerberosError) in
            try await self.forwardOnce(applicant, until: deadline)
        }
    }

    private func forwardOnce(
        _ applicant: Applicant, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        let granting = try await granting(of: applicant, until: deadline)
        guard granting.isForwardable else {
            throw KerberosError(.delegationUnavailable, "The realm issues the user no forwardable ticket.")
        }
        do throws(KerberosError) {
            let made = try await unsafe BlockingKDC.run(with: client, offset: granting.offset, until: deadline) {
                context, send, who, made in unsafe sk_forward(context, granting.handle, send, who, &made)
            }
            if state.books[applicant.owner]?.granting === granting { state.books[applicant.owner]?.forwarded = made }
            return made
        } catch {
            if error.isCancellation { throw error }
            throw KerberosError(
                .delegationUnavailable, "The realm issues no forwardable ticket: \(error.message)",
                underlying: error)
        }
    }

    // MARK: Exchanges

    /// Runs outside the actor, so that no other call waits for it.
    @concurrent private nonisolated func run(
        _ talk: KDCTalk, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Ticket {
        var (answer, answering): ([UInt8], String) = ([], "")
        // A few messages are normal: pre-authentication, referrals from realm to realm.
        for _ in 0..<Self.maximumMessages {
            switch try await step(of: talk, answer, from: answering, until: deadline) {
            case .done: return try talk.ticket()
            case .send(let message, let realm):
                answering = realm
                answer = try await client.answer(to: message, of: realm, until: deadline)
            }
        }
        throw KerberosError(.kdcProtocol, "The KDCs wanted more than \(Self.maximumMessages) messages for one ticket.")
    }

    /// - Parameter realm: the realm whose KDC answered.
    private nonisolated func step(
        of talk: KDCTalk, _ answer: [UInt8], from realm: String, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> KDCTalk.Step {
        guard talk.hashesPassword, !answer.isEmpty else { return try talk.step(answer) }
        return try await hashing.result(of: realm, until: deadline) { () -> Result<KDCTalk.Step, KerberosError> in
            do throws(KerberosError) {
                return .success(try talk.step(answer))
            } catch {
                return .failure(error)
            }
        }
    }

    private static let maximumMessages = 16

    // MARK: Stored tickets

    /// Changes a book, unless tickets were cleared since or are obtained with another secret, and stores it.
    private func keep(
        _ applicant: Applicant, _ generation: Int, _ change: (inout TicketBook) -> Void
    ) async {
        let owner = applicant.owner
        guard state.generation == generation, var book = self.book(of: applicant) else { return }
        change(&book)
        put(book, for: owner)
        guard let storage else { return }
        let record = book.isEmpty ? nil : TicketRecord(owner, book)
        do {
            // The write is queued in this call, so that a removal that follows is queued after it.
            try await storage.write(owner, record)
        } catch {
            logger.warning("Tickets cannot be stored.", metadata: ["error": "\(error)"])
        }
    }

    /// Loads the stored tickets, once.
    func load() throws(KerberosError) {
        guard let storage, !state.isLoaded else { return }
        try checkAccess()
        let records: [TicketRecord]
        do {
            records = try storage.load()
        } catch {
            throw KerberosError(.store, "The tickets cannot be read.", underlying: error)
        }
        for record in records {
            var book = TicketBook()
            record.fill(&book)
            let known = state.books[record.owner]
            // Tickets that were obtained meanwhile are newer.
            guard known?.isEmpty ?? true else { continue }
            // Nor do stored tickets stand in for a password that no KDC has seen yet.
            guard known?.source?.isPassword != true else { continue }
            book.source = known?.source
            book.use = known?.use ?? 0
            state.books[record.owner] = book
        }
        state.isLoaded = true
        makeRoom()
    }

    // MARK: Access

    /// Throws while neither the store nor secrets in memory may be used.
    func checkAccess() throws(KerberosError) {
        do throws(AccessDenied) {
            try gate?.checkAuthorized()
        } catch {
            let code: KerberosError.Code = error.reason == .notAuthorized ? .notAuthorized : .withdrawn
            throw KerberosError(code, "\(error)", underlying: error)
        }
    }
}
