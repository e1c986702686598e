/// An open store's claim to its directory, among processes and within this one, and who uses it: a value.
///
/// Closing releases the claim, and a wipe works under it: one at a time. A wipe waits for its turn. Closing cannot wait,
/// and leaves the release to the wipe that has the turn.
struct DirectoryClaim: Sendable {
    typealias Waiter = CheckedContinuation<Void, Never>

    /// Nil if the store is read only, and once it is closed.
    private var lock: WriterLock?
    /// Whether the store is not closed yet.
    private(set) var isHeld = true
    /// Whether a wipe or the release has the turn.
    private var isInUse = false
    /// Whether the wipe that has the turn must be followed by the release.
    private var isReleaseDue = false
    private(set) var isWiped = false
    private var wipes: [Waiter] = []

    init(_ lock: WriterLock?) { self.lock = lock }

    /// Adds a wipe.
    ///
    /// - Returns: the wipe, if its turn is now.
    mutating func wait(_ wipe: Waiter) -> Waiter? {
        guard !isInUse else {
            wipes.append(wipe)
            return nil
        }
        isInUse = true
        return wipe
    }

    mutating func noteWiped() { (isWiped, isReleaseDue) = (true, true) }

    /// Ends a wipe's turn. A release that is due comes before the next wipe.
    ///
    /// - Returns: the wipe whose turn is next, or whether the store must be closed now.
    mutating func endWipe() -> (next: Waiter?, isReleaseDue: Bool) {
        guard isReleaseDue, isHeld else { return (handOn(), false) }
        isInUse = false
        return (nil, true)
    }

    /// - Returns: whether the claim is to be released now: not a second time, and not during a wipe.
    mutating func beginRelease() -> Bool {
        guard !isInUse else {
            isReleaseDue = true
            return false
        }
        isInUse = isHeld
        return isHeld
    }

    mutating func takeLock() -> WriterLock? { lock.take() }

    /// - Returns: the wipe whose turn is next.
    mutating func endRelease() -> Waiter? {
        (isHeld, isReleaseDue) = (false, false)
        return handOn()
    }

    private mutating func handOn() -> Waiter? {
        isInUse = !wipes.isEmpty
        return wipes.isEmpty ? nil : wipes.removeFirst()
    }
}
