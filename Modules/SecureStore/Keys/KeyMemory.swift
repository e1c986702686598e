internal import CSecureStore
internal import SallyportBase

/// The memory that holds a store's keys while it is open.
///
/// Its pages are kept out of swap (mlock(2), if `RLIMIT_MEMLOCK` allows), out of core dumps (`MADV_DONTDUMP`) and out
/// of child processes (`MADV_WIPEONFORK`), and are cleared before they are released. Using a key leaves traces
/// elsewhere: in registers, briefly on the stack, and, in each thread's libcrypto context, the key of the last record
/// that was sealed or opened.
@safe
final class KeyMemory: Sendable {
    /// The largest key, in bytes.
    static let slotSize = 512
    private static let pagesSize = 16 << 10

    private struct State {
        var pages: [UInt] = []
        var free: [UInt] = []
        var isLocked = true
    }

    private let state = Lock(State())

    /// False if the system refused to lock a page.
    var isLocked: Bool { state.withLock { $0.isLocked } }

    /// How many keys it holds.
    var count: Int { state.withLock { $0.pages.count * (Self.pagesSize / Self.slotSize) - $0.free.count } }

    deinit {
        for address in state.withLock({ $0.pages }) {
            unsafe sp_pages_free(UnsafeMutableRawPointer(bitPattern: address), Self.pagesSize)
        }
    }

    func makeSlot() -> KeySlot {
        let address = state.withLock { state -> UInt in
            if state.free.isEmpty { Self.addPages(to: &state) }
            return state.free.removeLast()
        }
        return unsafe KeySlot(UnsafeMutableRawPointer(bitPattern: address).unsafelyUnwrapped, in: self)
    }

    private static func addPages(to state: inout State) {
        var isLocked: Int32 = 0
        let pages = unsafe sp_pages_make(pagesSize, &isLocked)
        guard let pages = unsafe pages else { preconditionFailure("The system must provide memory for keys.") }
        let start = UInt(bitPattern: pages)
        if isLocked == 0 { state.isLocked = false }
        state.pages.append(start)
        state.free += stride(from: start, to: start + UInt(pagesSize), by: slotSize)
    }

    fileprivate func free(_ pointer: UnsafeMutableRawPointer) {
        unsafe sp_clear(pointer, Self.slotSize)
        state.withLock { state in state.free.append(UInt(bitPattern: pointer)) }
    }

    /// Clears every key at once. Call it only when no key is used any more.
    func clear() {
        state.withLock { state in
            for address in state.pages {
                unsafe sp_clear(UnsafeMutableRawPointer(bitPattern: address), Self.pagesSize)
            }
        }
    }
}

/// A slot for one key; cleared and reused when there is no reference left.
@safe
final class KeySlot: @unchecked Sendable {
    // SAFETY: written once by its creator, before it is shared; only read from then on.
    let pointer: UnsafeMutableRawPointer
    private let memory: KeyMemory

    init(_ pointer: UnsafeMutableRawPointer, in memory: KeyMemory) {
        unsafe self.pointer = pointer
        self.memory = memory
    }

    deinit { unsafe memory.free(pointer) }
}
