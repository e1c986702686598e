internal import CDoor
internal import Glibc
public import Logging
internal import SallyportBase
public import SallyportConnecting
public import SallyportCore
internal import SallyportEventLoop

/// A proxy on this machine that leads other programs through the app's own way out: psql, git, pip, a headless browser, a
/// driver with connections of its own. Every connection is judged like one of the app's sockets, by the same connector:
/// relayed, direct or refused as the administrator's policy says, and ended with its withdrawal.
///
/// It takes HTTP (CONNECT, and requests in absolute form) and SOCKS 5 (CONNECT) on one place, and forwards other places to
/// one server each. It listens on loopback and on Unix sockets only, and lets in programs of the app's own user, of users
/// that are listed, and those that show a credential. Credentials, cookies and other fields of the app's sessions are
/// never added to what passes. See Docs/Door.md.
///
/// ```swift
/// let door = Door(through: connector, DoorConfiguration(listeningOn: [.loopback(port: 1080)]))
/// try await door.open()
/// // curl --proxy socks5h://127.0.0.1:1080 https://wiki.corp.example/
/// ```
///
/// The door stays open until ``shutdown()``.
public actor Door: InstancePart {
    private struct Entry {
        let socket: DoorSocket
        let visitor: Visitor
        let isTCP: Bool
        /// Whether the kernel can be asked about the program's socket. It knows none in another network namespace.
        let isKnown: Bool
        /// When the connection is ended unless it gets further; nil for no limit.
        var due: ContinuousClock.Instant?
        var isOverdue = false
        var task: Task<Void, Never>?
    }

    /// A connection that is being refused.
    private struct Dismissed {
        let number: UInt64
        let socket: DoorSocket
        let due: ContinuousClock.Instant
        let task: Task<Void, Never>

        /// Call it on the loop.
        func end() { socket.assumeIsolated { $0.close(because: .notAdmitted) } }
    }

    // The listening sockets, and all that is known of connections, belong to the thread of the loop.
    private nonisolated let loop = EventLoopGroup.shared.next()
    /// The event loop: the actor's functions run on its thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let configuration: DoorConfiguration
    private let admission: Admission
    private let services: DoorServices
    private let metrics = DoorMetrics()
    private var users = PeerUsers()
    private var listeners: [DoorListener] = []
    private var adopted: [DoorListener] = []
    private var entries: [UInt64: Entry] = [:]
    private var counts: [Visitor: Int] = [:]
    private var greetings: Greetings
    /// The oldest first. One that was ended stays until its task is over.
    private var dismissals: [Dismissed] = []
    private var lastNumber: UInt64 = 0
    private var openings: Turns
    private var watchdog: Task<Void, Never>?
    private var isShutDown = false

    /// Listens nowhere yet.
    ///
    /// - Parameters:
    ///   - connector: its maker shuts it down, after the door.
    ///   - configuration: where the door listens, which programs may come in, and its limits.
    ///   - logger: for connections that are refused; no message has a credential.
    public init(
        through connector: Connector, _ configuration: DoorConfiguration = DoorConfiguration(),
        logger: Logger = Logger(label: "sallyport.door")
    ) {
        self.configuration = configuration
        greetings = Greetings(limit: configuration.limits.greetings)
        openings = Turns(limit: max(1, configuration.limits.openings))
        admission = Admission(
            owner: geteuid(), allowedUsers: configuration.allowedUsers, credential: configuration.credential)
        services = DoorServices(
            connector: connector, servesProxyFile: configuration.servesProxyFile,
            connectTimeout: configuration.limits.connectTimeout, idleTimeout: configuration.limits.idleTimeout,
            logger: logger)
    }

    // MARK: Opening

    /// Begins to listen. Does nothing if the door is open.
    ///
    /// - Returns: the places as they are, with the ports that the system chose: those of the settings, then the forwarded
    ///   ones, in the order of the settings.
    /// - Throws: `inUse`, `invalidPlace`, `cannotListen`; it listens nowhere then. `shutDown`.
    @discardableResult
    public func open() throws(DoorError) -> [DoorPlace] {
        guard !isShutDown else { throw DoorError(.shutDown, "The door was shut down.") }
        guard watchdog == nil else { return places }
        let wanted =
            configuration.places.map { ($0, nil as Endpoint?) } + configuration.forwards.map { ($0.place, $0.target) }
        let isForAll = !configuration.allowedUsers.isEmpty || configuration.credential != nil
        var opened: [DoorListener] = []
        for (place, target) in wanted {
            do throws(DoorError) {
                opened.append(DoorListener(try ListeningSocket(place, isForAll: isForAll), leadingTo: target, self))
            } catch {
                for listener in opened { listener.socket.close() }
                throw error
            }
        }
        listeners = opened
        for listener in opened { loop.watch(listener.socket.descriptor, for: .read, handler: listener) }
        watchdog = Task { [weak self] in
            while await self?.endOverdue() ?? false { try? await Task.sleep(for: .milliseconds(500)) }
        }
        return places
    }

    /// Listens on a further socket, which becomes the door's, and is closed if this throws. Its connections are
    /// admitted without a check: only the app's own programs reach it, since it is in their network namespace.
    ///
    /// - Throws: `invalidPlace`; `shutDown`.
    package func adopt(_ descriptor: Int32) throws(DoorError) {
        do throws(DoorError) {
            guard !isShutDown else { throw DoorError(.shutDown, "The door was shut down.") }
            let listener = DoorListener(
                try ListeningSocket(.descriptor(descriptor), isForAll: false), leadingTo: nil, isPrivate: true, self)
            adopted.append(listener)
            loop.watch(descriptor, for: .read, handler: listener)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    /// Closes a socket that was adopted.
    package func release(_ descriptor: Int32) {
        guard let index = adopted.firstIndex(where: { $0.socket.descriptor == descriptor }) else { return }
        loop.forget(descriptor)
        adopted.remove(at: index).socket.close()
    }

    /// Where the door listens; nothing before ``open()`` and after ``shutdown()``.
    public var places: [DoorPlace] { listeners.map(\.socket.place) }

    /// Those of the places that take HTTP and SOCKS.
    public var proxyPlaces: [DoorPlace] { listeners.filter { $0.target == nil }.map(\.socket.place) }

    /// The place whose connections all lead to a server (``DoorConfiguration/forwards``); nil if none does, and before
    /// ``open()``.
    public func place(leadingTo target: Endpoint) -> DoorPlace? {
        listeners.first { $0.target == target }?.socket.place
    }

    /// The number of connections that are open now.
    public var connectionCount: Int { entries.count }

    // MARK: Connections

    /// Accepts waiting connections, at most 64 of them: the loop has other work too, and reports the rest again.
    func acceptReady(_ descriptor: Int32) {
        guard let listener = (listeners + adopted).first(where: { $0.socket.descriptor == descriptor }) else { return }
        for _ in 0..<64 {
            let connection = sallyport_accept(descriptor)
            if connection >= 0 {
                admit(connection, from: listener)
            } else if errno != ECONNABORTED {
                if errno != EAGAIN { pause(listener, errno) }
                return
            }
        }
    }

    /// Stops watching a socket while the process has no free descriptor. ``endOverdue()`` watches it again.
    private func pause(_ listener: DoorListener, _ number: Int32) {
        services.logger.warning(
            "door: no connection can be taken: \(unsafe String(cString: strerror(number)))",
            metadata: ["place": "\(listener.socket.place)"])
        loop.forget(listener.socket.descriptor)
        listener.isPaused = true
    }

    private func admit(_ descriptor: Int32, from listener: DoorListener) {
        let isTCP = listener.socket.isTCP
        let visitor = listener.isPrivate ? .user(geteuid()) : users.visitor(at: descriptor, overTCP: isTCP)
        switch admission.answer(to: visitor, askingForCredential: listener.target == nil) {
        case .welcome: take(descriptor, of: visitor, from: listener, asking: nil)
        case .onlyWith(let credential): take(descriptor, of: visitor, from: listener, asking: credential)
        case .refused: dismiss(descriptor, of: visitor, from: listener)
        }
    }

    /// - Parameter credential: what the program must show; nil for a user that is welcome.
    private func take(
        _ descriptor: Int32, of visitor: Visitor, from listener: DoorListener, asking credential: DoorCredential?
    ) {
        let isTCP = listener.socket.isTCP
        let limits = configuration.limits
        guard entries.count < limits.connections, counts[visitor, default: 0] < limits.connectionsPerUser else {
            close(descriptor)
            let record = DoorRecord(place: "\(listener.socket.place)", user: visitor.number)
            return tell(record, .tooManyConnections(of: visitor), listener.target == nil ? nil : .forward)
        }
        if isTCP {
            var yes: Int32 = 1
            _ = unsafe setsockopt(
                descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
        lastNumber += 1
        let socket = DoorSocket(descriptor, isTCP: isTCP, on: loop)
        let visit = Visit(
            number: lastNumber, socket: socket, door: self, services: services, visitor: visitor,
            credential: credential, place: listener.socket.place, forward: listener.target)
        entries[lastNumber] = Entry(
            socket: socket, visitor: visitor, isTCP: isTCP,
            isKnown: !isTCP || !listener.isPrivate && visitor.number != nil, due: .now + limits.greetingTimeout)
        counts[visitor, default: 0] += 1
        beginGreeting(lastNumber, of: visitor, isAsked: credential != nil)
        entries[lastNumber]?.task = Task(executorPreference: loop) { [number = lastNumber] in
            let record = await withTaskCancellationHandler {
                await visit.run()
            } onCancel: {
                Task { await socket.reset() }
            }
            await self.isOver(number, record)
        }
    }

    /// Ends a connection whose user may not come in, and which takes no place that others need.
    private func dismiss(_ descriptor: Int32, of visitor: Visitor, from listener: DoorListener) {
        let record = DoorRecord(place: "\(listener.socket.place)", user: visitor.number)
        let socket = DoorSocket(descriptor, isTCP: listener.socket.isTCP, on: loop)
        guard listener.target == nil else {
            // No protocol is spoken there.
            socket.assumeIsolated { $0.reset() }
            return tell(record, .notAdmitted, .forward)
        }
        for oldest in dismissals.dropLast(Dismissal.limit - 1) { oldest.end() }
        lastNumber += 1
        let task = Task(executorPreference: loop) { [number = lastNumber] in
            let (refusal, form) = await Dismissal(socket: socket).run()
            await self.isDismissed(number, record, refusal, form)
        }
        let due = ContinuousClock.now + configuration.limits.dismissalTime
        dismissals.append(Dismissed(number: lastNumber, socket: socket, due: due, task: task))
    }

    private func isDismissed(
        _ number: UInt64, _ record: DoorRecord, _ refusal: DoorRefusal, _ form: DoorRequest.Form?
    ) {
        dismissals.removeAll { $0.number == number }
        tell(record, refusal, form)
    }

    private func tell(_ start: DoorRecord, _ refusal: DoorRefusal, _ form: DoorRequest.Form?) {
        var record = start
        record.form = form?.rawValue
        record.end = refusal.name
        services.log(refusal, record)
        tell(record)
    }

    private func isOver(_ number: UInt64, _ record: DoorRecord) {
        endGreeting(number)
        if let entry = entries.removeValue(forKey: number) {
            let count = counts[entry.visitor, default: 1] - 1
            counts[entry.visitor] = count > 0 ? count : nil
        }
        tell(record)
    }

    private func tell(_ record: DoorRecord) {
        metrics.record(record)
        configuration.onRecord?(record)
    }

    private func beginGreeting(_ number: UInt64, of visitor: Visitor, isAsked: Bool) {
        if let silent = greetings.add(number, of: visitor, isAsked: isAsked) { giveUp(silent) }
    }

    /// Call it while the connection has its entry.
    private func endGreeting(_ number: UInt64) {
        guard let visitor = entries[number]?.visitor else { return }
        greetings.remove(number, of: visitor)
    }

    // MARK: Times

    /// Sets how long a connection may last from now.
    func limit(_ number: UInt64, to time: Duration) { entries[number]?.due = .now + time }

    /// Notes that the request of a connection has been read and is admitted: it may last from now on. One that is
    /// refused still counts as a greeting until it is over, since a program can be refused as often as it likes.
    func isLetIn(_ number: UInt64) {
        entries[number]?.due = nil
        endGreeting(number)
    }

    func isOverdue(_ number: UInt64) -> Bool { entries[number]?.isOverdue ?? false }

    /// - Returns: whether the door is open.
    private func endOverdue() async -> Bool {
        guard !isShutDown else { return false }
        let now = ContinuousClock.now
        for (number, entry) in entries where entry.due.map({ $0 <= now }) ?? false { giveUp(number) }
        for dismissal in dismissals where dismissal.due <= now { dismissal.end() }
        for listener in listeners + adopted where listener.isPaused {
            listener.isPaused = false
            loop.watch(listener.socket.descriptor, for: .read, handler: listener)
        }
        return true
    }

    private func giveUp(_ number: UInt64) {
        entries[number]?.isOverdue = true
        entries[number]?.due = nil
        endGreeting(number)
        guard let socket = entries[number]?.socket else { return }
        socket.assumeIsolated { $0.reset() }
    }

    // MARK: Turns

    /// The number of connections to servers that wait for their turn.
    var waitingCount: Int { openings.waitingCount }

    /// Waits until a connection to a server may be opened.
    ///
    /// - Returns: false if that took too long, or the task was cancelled; there is no turn to end then.
    func beginOpening() async -> Bool {
        guard let place = openings.join() else { return true }
        await place.wait(until: .now + configuration.limits.queueTimeout)
        return openings.isTurn(of: place)
    }

    func endOpening() { openings.end() }

    /// Whether a program that has ended its side has closed its connection; nil where the kernel does not know.
    func hasLeft(_ number: UInt64) -> Bool? {
        guard let entry = entries[number], let descriptor = entry.socket.assumeIsolated({ $0.openDescriptor }) else {
            return true
        }
        if PeerUsers.isBroken(descriptor) { return true }
        guard entry.isTCP else { return false }
        return entry.isKnown ? users.isClosed(at: descriptor) : nil
    }

    // MARK: End

    /// Ends all connections, and listens no more. Idempotent; it cannot be opened again.
    public func shutdown() async {
        isShutDown = true
        watchdog?.cancel()
        for listener in listeners + adopted {
            loop.forget(listener.socket.descriptor)
            listener.socket.close()
        }
        (listeners, adopted) = ([], [])
        for dismissal in dismissals { dismissal.end() }
        let ending = entries.values.compactMap(\.task) + dismissals.map(\.task)
        for task in ending { task.cancel() }
        for task in ending { await task.value }
    }
}

/// A listening socket of a door. Used on the door's loop only.
final class DoorListener: DescriptorHandler {
    let socket: ListeningSocket
    let target: Endpoint?
    /// Only the app's own programs reach it.
    let isPrivate: Bool
    /// Whether it is not watched at present, since the process had no free descriptor.
    var isPaused = false
    private let door: Door

    init(_ socket: ListeningSocket, leadingTo target: Endpoint?, isPrivate: Bool = false, _ door: Door) {
        (self.socket, self.target, self.isPrivate, self.door) = (socket, target, isPrivate, door)
    }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
        door.assumeIsolated { $0.acceptReady(descriptor) }
    }
}
