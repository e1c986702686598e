import StoreWorkload

@testable import SallyportSecureStore

/// What must be in a store, by what its writer had said before the power was cut.
struct Expectation {
    /// Of each writer: the first and the last number of transactions that may be there.
    private(set) var bounds: [Int: ClosedRange<Int>] = [:]
    /// What else may be there: what is being restored.
    private(set) var alternative: Int?
    private(set) var isMade = false
    private(set) var mayBeWiped = false
    private(set) var mustBeWiped = false
    /// Of the keys, in a wipe.
    private var wipedKeys: UInt32?

    mutating func observe(_ entry: Recording.Entry) {
        switch entry {
        case .said(let text): for line in text.split(separator: "\n") { said(line) }
        case .opened(let opening, let path, _) where mayBeWiped && path.hasSuffix("/store/keys"): wipedKeys = opening
        case .synced(let opening) where mayBeWiped && opening == wipedKeys: mustBeWiped = true
        default: break
        }
    }

    private mutating func said(_ line: Substring) {
        let words = line.split(separator: " ")
        let numbers = words.dropFirst().compactMap { Int($0) }
        switch words.first {
        case "open": isMade = true
        case "begin": bounds[numbers[0]] = (bounds[numbers[0]]?.lowerBound ?? 0)...numbers[1]
        case "done": bounds[numbers[0]] = numbers[1]...numbers[1]
        case "wiping": mayBeWiped = true
        case "wiped": mustBeWiped = true
        case "restoring": alternative = numbers[0]
        case "restored":
            bounds[0] = numbers[0]...numbers[0]
            alternative = nil
        default: break
        }
    }

    func allows(_ transactions: Int, of writer: Int) -> Bool {
        (bounds[writer] ?? 0...0).contains(transactions) || (alternative == transactions && writer == 0)
    }
}
