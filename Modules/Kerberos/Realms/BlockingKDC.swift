internal import CKerberos
internal import Glibc
internal import SallyportBase

/// Runs a call of libkrb5 that blocks for its answers on a thread of its own, while the messages to the KDC use the
/// same connections as all others; only that thread blocks. Each such call has its own thread, since one that waits for
/// a silent KDC must not delay another; there is at most one at a time for each user and secret.
///
/// Uses a lock: libkrb5 calls back on that thread, and a callback from C cannot await an actor.
@safe
final class BlockingKDC: @unchecked Sendable {
    // SAFETY: all state is guarded by the lock; semaphores are thread-safe.
    typealias Call = @Sendable (OpaquePointer, sk_send, UnsafeMutableRawPointer, inout OpaquePointer?) -> Int32

    private enum Word: Sendable {
        case asks([UInt8], realm: String)
        case ended(Result<Ticket, KerberosError>)
    }

    private struct State {
        var words: [Word] = []
        var waiting: CheckedContinuation<Word, Never>?
        var answer: [UInt8]?
    }

    private let state = Lock(State())
    private let semaphore: UnsafeMutablePointer<sem_t>
    private let call: Call
    private let offset: Int32

    private init(offset: Int32, _ call: @escaping Call) {
        unsafe self.call = call
        self.offset = offset
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    /// - Parameters:
    ///   - deadline: after which no message of the call is answered.
    ///   - call: a CKerberos function that blocks in its `send`.
    static func run(
        with client: KDCClient, offset: Int32, until deadline: ContinuousClock.Instant, _ call: @escaping Call
    ) async throws(KerberosError) -> Ticket {
        let kdc = unsafe BlockingKDC(offset: offset, call)
        let hasStarted = OwnThread.start("krb5-kdc") { kdc.work() }
        guard hasStarted else { throw KerberosError(.other, "A thread for krb5 could not be started.") }
        var failure: KerberosError?
        while true {
            switch await kdc.next() {
            case .ended(let result):
                if let failure { throw failure }
                return try result.get()
            case .asks(let message, let realm):
                do throws(KerberosError) {
                    kdc.answer(try await client.answer(to: message, of: realm, until: deadline))
                } catch {
                    failure = error
                    kdc.answer(nil)
                }
            }
        }
    }

    // MARK: The task's side

    private func next() async -> Word {
        await withCheckedContinuation { continuation in
            let word = state.withLock { state -> Word? in
                guard state.words.isEmpty else { return state.words.removeFirst() }
                state.waiting = continuation
                return nil
            }
            if let word { continuation.resume(returning: word) }
        }
    }

    /// Must be called for each question: the thread waits for it.
    private func answer(_ bytes: [UInt8]?) {
        state.withLock { $0.answer = bytes }
        unsafe sem_post(semaphore)
    }

    // MARK: The thread's side

    private func work() {
        do throws(KerberosError) {
            let context = try KerberosContext(offset: offset)
            var made: OpaquePointer?
            let code = unsafe call(context.handle, Self.send, Unmanaged.passUnretained(self).toOpaque(), &made)
            try context.check(code)
            guard let made = unsafe made else { throw KerberosError(.other, "krb5 made no ticket.") }
            say(.ended(.success(unsafe Ticket(made, offset: offset))))
        } catch {
            say(.ended(.failure(error)))
        }
    }

    private func say(_ word: Word) {
        let waiting = state.withLock { state -> CheckedContinuation<Word, Never>? in
            defer { state.waiting = nil }
            if state.waiting == nil { state.words.append(word) }
            return state.waiting
        }
        waiting?.resume(returning: word)
    }

    /// Blocks until the task has an answer, or has failed.
    private func ask(_ message: [UInt8], realm: String) -> [UInt8]? {
        say(.asks(message, realm: realm))
        while unsafe sem_wait(semaphore) != 0 {}
        return state.withLock { state in
            defer { state.answer = nil }
            return state.answer
        }
    }

    private static let send: sk_send = { who, realm, realmCount, message, count, answer, answerCount in
        guard let who = unsafe who else { return -1 }
        let kdc = unsafe Unmanaged<BlockingKDC>.fromOpaque(who).takeUnretainedValue()
        let name = unsafe String(decoding: UnsafeBufferPointer(start: realm, count: realmCount), as: UTF8.self)
        let bytes = unsafe Array(UnsafeBufferPointer(start: message, count: count))
        guard let found = kdc.ask(bytes, realm: name), let copy = unsafe malloc(max(found.count, 1)) else {
            return sk_aborted
        }
        unsafe copy.copyMemory(from: found, byteCount: found.count)
        unsafe answer.pointee = copy.assumingMemoryBound(to: UInt8.self)
        unsafe answerCount.pointee = found.count
        return 0
    }
}
