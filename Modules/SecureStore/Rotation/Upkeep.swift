internal import SallyportBase

/// What an open store has besides its data: its key file and protector, the progress of a rotation, and the claims to
/// the directory that closing releases.
///
/// A lock and not an actor, because it is used by the writer's thread and in a `deinit`.
final class Upkeep: Sendable {
    private struct State {
        var keyFile: KeyRingFile
        var protector: any KeyProtector
        var rotation = Rotation()
        /// Nil if the store is read only, and once it is closed.
        var writerLock: WriterLock?
        /// Whether the directory is registered in ``OpenDirectories``.
        var isEntered = true
        /// How many wipes are under way.
        var wipes = 0
        /// Whether the store was closed during a wipe.
        var isReleaseDue = false
    }

    private let state: Lock<State>

    init(_ keyFile: KeyRingFile, _ protector: any KeyProtector, _ writerLock: WriterLock?) {
        state = Lock(State(keyFile: keyFile, protector: protector, writerLock: writerLock))
    }

    var keyFile: KeyRingFile { state.withLock { $0.keyFile } }
    var protector: any KeyProtector { state.withLock { $0.protector } }

    func protect(_ keyFile: KeyRingFile, by protector: any KeyProtector) {
        state.withLock { ($0.keyFile, $0.protector) = (keyFile, protector) }
    }

    // MARK: The rotation

    /// Where the walk continues; nil if none is in progress.
    var cursor: [UInt8]? { state.withLock { $0.rotation.cursor } }

    /// Where the walk continues while `key` is the current data key; it starts again if it began under another one.
    func cursor(for key: UInt32) -> [UInt8]? { state.withLock { $0.rotation.cursor(for: key) } }

    func beginRotation(for key: UInt32) { state.withLock { $0.rotation.begin(for: key) } }

    func advanceRotation(to next: [UInt8]?, damaged: Int) -> Bool {
        state.withLock { $0.rotation.advance(to: next, damaged: damaged) }
    }

    /// Ends the walk and wakes the waiting tasks.
    func endRotation(_ failure: StoreError?) {
        let (waiters, outcome) = state.withLock { $0.rotation.end(failure) }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    func waitForRotation(_ waiter: Rotation.Waiter) { state.withLock { $0.rotation.wait(waiter) } }

    // MARK: The end

    /// From here on, closing the store keeps the claims to its directory, so that no other opening finds it half wiped.
    func beginWipe() { state.withLock { $0.wipes += 1 } }

    /// - Returns: whether the store was closed meanwhile, and must be closed again.
    func endWipe() -> Bool {
        state.withLock { state in
            state.wipes -= 1
            return state.wipes == 0 && state.isReleaseDue
        }
    }

    /// Whether closing may release the claims now; if not, the end of the wipe closes again.
    func mayRelease() -> Bool {
        state.withLock { state in
            if state.wipes > 0 { state.isReleaseDue = true }
            return state.wipes == 0
        }
    }

    /// Releases the lock, so that another process can write.
    func releaseLock() { state.withLock { $0.writerLock.take() }?.markClean() }

    /// - Returns: whether this is the first call.
    func leave() -> Bool {
        state.withLock { state in
            defer { state.isEntered = false }
            return state.isEntered
        }
    }
}
