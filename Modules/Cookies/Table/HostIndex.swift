internal import SallyportCore

/// Finds the place of a host, and of each domain above it, without creating strings.
struct HostIndex {
    /// Slots by digest, each with the first place; places with the same digest are linked by ``CookieBucket/next``.
    /// Their number is a power of two; at most half of them are in use. A place of -1 means none.
    private var slots = [Slot](repeating: Slot(), count: 16)
    private var count = 0
    /// Random, so that an attacker cannot choose names with the same digest.
    private let seed = UInt64.random(in: .min ... .max)

    private struct Slot {
        var digest: UInt64 = 0
        var place = -1
    }

    private func slot(of digest: UInt64) -> Int {
        var slot = Int(truncatingIfNeeded: digest >> 7) & (slots.count - 1)
        while slots[slot].place >= 0, slots[slot].digest != digest { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }

    /// The first place of a digest; nil if there is none.
    func first(_ digest: UInt64) -> Int? {
        let place = slots[slot(of: digest)].place
        return place >= 0 ? place : nil
    }

    mutating func setFirst(_ place: Int, of digest: UInt64) {
        if (count + 1) * 2 > slots.count { grow() }
        let slot = slot(of: digest)
        if slots[slot].place < 0 { count += 1 }
        slots[slot] = Slot(digest: digest, place: place)
    }

    private mutating func grow() {
        let taken = slots.filter { $0.place >= 0 }
        slots = [Slot](repeating: Slot(), count: slots.count * 2)
        for entry in taken { slots[slot(of: entry.digest)] = entry }
    }

    mutating func removeAll() {
        slots = [Slot](repeating: Slot(), count: 16)
        count = 0
    }

    /// The digest of a host; for a name, the one that ``forEachDomain(of:_:)`` computes for the whole name.
    func digest(of host: Host) -> UInt64 {
        switch host {
        case .address(.v4(let number)): return step(step(seed, 4), UInt64(number))
        case .address(.v6(let high, let low)): return step(step(step(seed, 6), high), low)
        case .name(let name): return name.utf8.reversed().reduce(seed) { step($0, UInt64($1)) }
        }
    }

    private func step(_ digest: UInt64, _ word: UInt64) -> UInt64 {
        let mixed = (digest ^ word) &* 0x9e37_79b9_7f4a_7c15
        return mixed ^ (mixed >> 29)
    }

    /// Calls `body` with the digest of each domain of a name that has cookies, the shortest first, and with the
    /// domain's start in the name.
    func forEachDomain(of name: String, _ body: (_ place: Int, _ start: Int) -> Void) {
        var name = name
        name.withUTF8 { bytes in
            var digest = seed
            var index = bytes.count
            while index > 0 {
                index -= 1
                let byte = unsafe bytes[index]
                if byte == UInt8(ascii: "."), let place = first(digest) { body(place, index + 1) }
                digest = step(digest, UInt64(byte))
            }
            if let place = first(digest) { body(place, 0) }
        }
    }
}

/// The cookies of one domain, in the order in which they are sent.
struct CookieBucket {
    let host: Host
    var entries: [CookieEntry] = []
    /// The next place with the same digest.
    var next: Int?

    init(_ host: Host) { self.host = host }

    mutating func insert(_ entry: CookieEntry) {
        let index = entries.firstIndex { entry.goesBefore($0) } ?? entries.endIndex
        entries.insert(entry, at: index)
    }
}
